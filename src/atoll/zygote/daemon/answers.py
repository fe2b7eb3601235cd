"""The zygote's answers about sandboxes, as messages of the wire."""

from atoll.inside.program import INSIDE_INIT
from atoll.wire.zygote import messages as wire
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records.entry import Phase, SandboxEntry
from atoll.zygote.records.record import SandboxRecord
from atoll.zygote.records.reports import RendezvousReady


def box_answer(host: HostResources, known: SandboxRecord, entry: SandboxEntry | None) -> wire.Box:
    """Return the description of a sandbox; `entry` is None when only its files are kept."""
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
        link=str(host.home.box(known.sandbox_id).link) if known.wall == "link" else "",
        backend=known.backend,
        data=known.data,
        pooled=known.pooled,
    )


def awaited_answer(host: HostResources, entry: SandboxEntry, laid: RendezvousReady) -> wire.Awaited:
    """Return what a container engine must know to build the wall."""
    places, programs = host.home.box(entry.record.sandbox_id), host.programs
    return wire.Awaited(
        box=box_answer(host, entry.record, entry),
        rendezvous=str(places.rendezvous),
        init_file=str(programs.init_file),
        init=(INSIDE_INIT,),
        workspace=f"{laid.files}/workspace",
        state=f"{laid.files}/state",
        etc=str(places.etc),
        own_run=str(places.own_run),
        folders=laid.folders,
    )
