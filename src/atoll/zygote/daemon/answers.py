"""What the zygote says of its sandboxes: records and endings in the words of the wire."""

import os
import signal
from typing import cast, get_args

from atoll.domain.errors import AtollError
from atoll.wire.zygote import messages as wire
from atoll.zygote.records.entry import Live, Phase
from atoll.zygote.records.record import Record
from atoll.zygote.start.host_resources import Laid, Nursery


def shown(nursery: Nursery, known: Record, box: Live | None) -> wire.Box:
    """A sandbox, which lives where there is a `box`."""
    return wire.Box(
        sandbox_id=known.sandbox_id,
        generation=known.generation,
        live=box is not None and box.phase is not Phase.BURIAL,
        socket=str(nursery.home.box(known.sandbox_id).socket),
        host_uid=known.sandbox_uid,
        runtime_pid=box.pid if box is not None else 0,
        init=known.init,
        degraded=known.degraded,
        reason=known.reason,
        wall=known.wall,
        maintenance=box is not None and box.maintenance,
    )


def awaited(nursery: Nursery, box: Live, laid: Laid) -> wire.Awaited:
    """What whoever builds a wall must know."""
    places, programs = nursery.home.box(box.record.sandbox_id), nursery.programs
    return wire.Awaited(
        box=shown(nursery, box.record, box),
        rendezvous=str(places.rendezvous),
        init_file=str(programs.init_file),
        init=programs.init_inside,
        workspace=f"{laid.files}/workspace",
        state=f"{laid.files}/state",
        etc=str(places.etc),
        folders=laid.folders,
    )


def refusal(error: AtollError) -> wire.Refused:
    """An error as it goes over the wire."""
    return wire.Refused(kind_of(error.default_code), error.message)


def kind_of(code: str) -> wire.Kind:
    """An error's code as the wire knows it."""
    for kind in get_args(wire.Kind):
        if kind == code:
            return cast(wire.Kind, kind)
    return "failed"


def ending(status: int) -> str:
    """How a process ended, as the rest of a sentence."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with status {code}"
