"""The assignment of a sandbox that waits to a start request.

`assign` runs in the zygote, `await_assignment` in the sandbox's runtime, which has no privilege by
then. Nothing can run inside before the assignment ends, so no limit, name or key comes too late.
"""

import contextlib
import os
import socket

import msgspec

from atoll.domain.errors import Failed
from atoll.wire.zygote.messages import Start, Wall
from atoll.zygote.host import kernel
from atoll.zygote.host.children import MAX_PACKET_BYTES
from atoll.zygote.host.home import BoxPlaces
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records import record
from atoll.zygote.records.entry import SandboxEntry
from atoll.zygote.start.endpoint import RuntimeEndpoint, open_endpoint
from atoll.zygote.start.identity import write_names
from atoll.zygote.start.rendezvous import write_host_name
from atoll.zygote.stop.teardown import has_ended
from atoll.zygote.wall.cgroups import caps
from atoll.zygote.wall.late_views import attach_views, is_late

_OWN_UTS = "/proc/self/ns/uts"
_MAX_ENDS = 2


class Assignment(msgspec.Struct, frozen=True):
    """Message that gives a pooled sandbox its request. The runtime's listening socket travels
    beside it, then (with `keys`) the broker's keys."""

    request: Start
    keys: bool


def assign(host: HostResources, entry: SandboxEntry, request: Start) -> record.SandboxRecord:
    """Turn the waiting sandbox `entry` into the one that `request` describes and return its new
    record. The sandbox must have been built for such a request. Raises `OSError`, `Invalid`,
    `Failed`; the waiting sandbox then keeps its old place and must be stopped. One that has ended
    is assigned to nobody."""
    if any(map(has_ended, (entry.pidfd, *entry.inside_pidfds))):
        raise Failed(f"{entry.record.sandbox_id} has ended")
    former = entry.record.sandbox_id
    moves = former != request.sandbox_id
    ours, theirs = host.home.box(former), host.home.box(request.sandbox_id)
    named = msgspec.structs.replace(
        entry.record,
        sandbox_id=request.sandbox_id,
        generation=request.generation,
        hostname=request.hostname,
        group=former if moves else "",
        pooled=False,
    )
    init = entry.inside_pidfds[0]
    _set_host_name(init, request.hostname)
    late = tuple(view for view in request.views if is_late(view))
    attach_views(init, late, top=host.home.root, uid=entry.record.sandbox_uid)
    _write_request(host, ours, request, wall=named.wall)
    record.save(ours.record, named)
    endpoint = open_endpoint(host, theirs)
    try:
        if moves:
            ours.folder.rename(theirs.folder)
        try:
            _send_assignment(entry, request, endpoint)
        except (OSError, Failed):
            if moves:
                theirs.folder.rename(ours.folder)
            raise
    except (OSError, Failed):
        with contextlib.suppress(OSError):
            theirs.socket.unlink()
            theirs.run.rmdir()
        raise
    finally:
        endpoint.close()
    return named


def _write_request(host: HostResources, places: BoxPlaces, request: Start, *, wall: Wall) -> None:
    """Write its names, and set its limits unless a container's engine does."""
    if wall == "container":
        write_host_name(places.etc, request.hostname)
    else:
        host.groups.make(places.folder.name, caps(request.limits))
        write_names(places, request)


def _set_host_name(init: int, name: str) -> None:
    """Set the host name inside, and return to this process's own namespace in any case."""
    home = os.open(_OWN_UTS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        kernel.setns(init, kernel.CLONE_NEWUTS)
        try:
            socket.sethostname(name)
        finally:
            kernel.setns(home, kernel.CLONE_NEWUTS)
    finally:
        os.close(home)


def _send_assignment(entry: SandboxEntry, request: Start, endpoint: RuntimeEndpoint) -> None:
    if entry.child is None:
        raise Failed(f"{entry.record.sandbox_id} has no process")
    packet = msgspec.json.encode(Assignment(request, endpoint.keys is not None))
    keys = [] if endpoint.keys is None else [endpoint.keys]
    socket.send_fds(entry.child.channel, [packet], [endpoint.listener.fileno(), *keys])


def await_assignment(channel: socket.socket) -> tuple[Start, RuntimeEndpoint]:
    """Wait, without a limit, for the zygote's assignment. Raises `SystemExit` when the zygote
    closed the channel."""
    channel.setblocking(True)
    packet, fds, _flags, _peer = socket.recv_fds(channel, MAX_PACKET_BYTES * 2, _MAX_ENDS)
    if not packet:
        raise SystemExit(0)
    assignment = msgspec.json.decode(packet, type=Assignment)
    for fd in fds:
        os.set_inheritable(fd, False)
    keys = fds[1] if assignment.keys else None
    return assignment.request, RuntimeEndpoint(socket.socket(fileno=fds[0]), keys)
