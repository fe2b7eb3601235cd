"""What the zygote says of its sandboxes: records and endings in the words of the wire."""

import os
import signal
from typing import cast, get_args

from atoll.domain.errors import AtollError
from atoll.wire.zygote import messages as wire
from atoll.zygote.records.entry import Phase, SandboxEntry
from atoll.zygote.records.record import SandboxRecord
from atoll.zygote.start.host_resources import HostResources, RendezvousReady


def box_answer(host: HostResources, known: SandboxRecord, entry: SandboxEntry | None) -> wire.Box:
    """A sandbox, which lives where there is an `entry`."""
    return wire.Box(
        sandbox_id=known.sandbox_id,
        generation=known.generation,
        live=entry is not None and entry.phase is not Phase.STOPPING,
        socket=str(host.home.box(known.sandbox_id).socket),
        host_uid=known.sandbox_uid,
        runtime_pid=entry.pid if entry is not None else 0,
        init=known.init,
        degraded=known.degraded,
        reason=known.reason,
        wall=known.wall,
        maintenance=entry is not None and entry.maintenance,
    )


def awaited_answer(host: HostResources, entry: SandboxEntry, laid: RendezvousReady) -> wire.Awaited:
    """What whoever builds a wall must know."""
    places, programs = host.home.box(entry.record.sandbox_id), host.programs
    return wire.Awaited(
        box=box_answer(host, entry.record, entry),
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


def describe_end(status: int) -> str:
    """How a process ended, as the rest of a sentence."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with status {code}"
