"""Giving a spare its name: what makes a sandbox that stands already somebody's.

`adopt` runs in the zygote, `await_adoption` in the spare, which has no privilege left by then.
Nothing can run inside before the end of it: so no bound, name or key comes too late.
"""

import contextlib
import os
import socket

import msgspec

from atoll.domain.errors import Failed
from atoll.wire.zygote.messages import Start
from atoll.zygote.daemon import kernel
from atoll.zygote.daemon.children import MAX_PACKET_BYTES
from atoll.zygote.disk.host_root import hosts_text
from atoll.zygote.records import record
from atoll.zygote.records.entry import Live
from atoll.zygote.start.endpoint import Doorstep, lay_doorstep
from atoll.zygote.start.host_resources import Adoption, Nursery
from atoll.zygote.wall.cgroups import caps

_OWN_UTS = "/proc/self/ns/uts"
_MAX_ENDS = 2


def adopt(nursery: Nursery, box: Live, request: Start) -> record.Record:
    """Make the spare `box`, which was built for such a `request`, its sandbox; the record to have
    from now on. Raises `OSError`, `Failed`; the spare lies then where it lay, to be buried."""
    nobody = box.record.sandbox_id
    ours, theirs = nursery.home.box(nobody), nursery.home.box(request.sandbox_id)
    named = msgspec.structs.replace(
        box.record,
        sandbox_id=request.sandbox_id,
        generation=request.generation,
        hostname=request.hostname,
        group=nobody,
    )
    nursery.groups.make(nobody, caps(request.limits))
    _name_host(box.inside[0], request.hostname)
    # The very file that is mounted inside.
    ours.hosts.write_text(hosts_text(request.hostname))
    record.save(ours.record, named)
    doorstep = lay_doorstep(nursery, theirs)
    try:
        ours.folder.rename(theirs.folder)
        try:
            _tell(box, request, doorstep)
        except (OSError, Failed):
            theirs.folder.rename(ours.folder)
            raise
    except (OSError, Failed):
        with contextlib.suppress(OSError):
            theirs.socket.unlink()
            theirs.run.rmdir()
        raise
    finally:
        doorstep.close()
    return named


def _name_host(init: int, name: str) -> None:
    """Set the host name inside. Nothing of this process's own may be left in there."""
    home = os.open(_OWN_UTS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        kernel.setns(init, kernel.CLONE_NEWUTS)
        try:
            socket.sethostname(name)
        finally:
            kernel.setns(home, kernel.CLONE_NEWUTS)
    finally:
        os.close(home)


def _tell(box: Live, request: Start, doorstep: Doorstep) -> None:
    if box.child is None:
        raise Failed(f"{box.record.sandbox_id} has no process")
    packet = msgspec.json.encode(Adoption(request, doorstep.keys is not None))
    keys = [] if doorstep.keys is None else [doorstep.keys]
    socket.send_fds(box.child.talk, [packet], [doorstep.listener.fileno(), *keys])


def await_adoption(talk: socket.socket) -> tuple[Start, Doorstep]:
    """Wait for as long as it takes. Raises `SystemExit` when nobody will come any more."""
    talk.setblocking(True)
    packet, fds, _flags, _peer = socket.recv_fds(talk, MAX_PACKET_BYTES * 2, _MAX_ENDS)
    if not packet:
        raise SystemExit(0)
    adoption = msgspec.json.decode(packet, type=Adoption)
    for fd in fds:
        os.set_inheritable(fd, False)
    keys = fds[1] if adoption.keys else None
    return adoption.request, Doorstep(socket.socket(fileno=fds[0]), keys)
