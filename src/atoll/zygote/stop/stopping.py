"""An end as the zygote sees it: the doors close, a child buries, everything held is let go.

What is done to the processes and files is `burial`'s; who waits for it is the caller's.
"""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Failed
from atoll.zygote.daemon.children import Loop, detach
from atoll.zygote.records.entry import Live, Phase
from atoll.zygote.start.host_resources import Nursery
from atoll.zygote.stop.teardown import Buried, Grave, bury, remove_tree, send
from atoll.zygote.wall import runtime_group


def begin_funeral(loop: Loop, nursery: Nursery, box: Live, over: Callable[[Buried], None]) -> None:
    """Begin the end of `box`. Its doors refuse at once, yet stay owned until all inside is
    dead; then `over` hears what was found, and no descriptor is left in `box`."""
    box.phase = Phase.BURIAL
    for run in box.runs.values():
        send(run.pidfd, signal.SIGKILL)
    for door in box.doors:
        _refuse(door)
    for fd in box.inside[:1]:
        loop.forget(fd)
    sandbox_id, pidfd = box.record.sandbox_id, box.pidfd
    grave = Grave(
        places=nursery.home.box(sandbox_id),
        groups=nursery.groups.paths(box.record.group_name),
        runtime_groups=runtime_group.paths(nursery.groups, box.record.group_name),
        runtime=pidfd,
        inside=box.inside,
        keep=box.keep,
        lender=nursery.storage.lender,
        remove=_remover(nursery, box),
    )
    found: list[Buried] = []

    def dig(talk: socket.socket) -> None:
        fds = {fd for fd in (talk.fileno(), grave.runtime, *grave.inside) if fd is not None}
        detach(fds | grave.lender.descriptors | nursery.namespaces)
        talk.send(msgspec.json.encode(bury(grave)))

    def ended(_status: int) -> None:
        for door in box.doors:
            door.close()
        for fd in (*box.inside, *([] if pidfd is None else [pidfd])):
            os.close(fd)
        broke = Buried(leftovers=(f"the burial of {sandbox_id} broke off",))
        over(found[0] if found else broke)

    child = loop.fork(
        dig, lambda packet, _fds: found.append(msgspec.json.decode(packet, type=Buried)), ended
    )
    os.close(child.pidfd)


def _remover(nursery: Nursery, box: Live) -> Callable[[Path], str]:
    subordinates, uid = nursery.subordinates, box.record.sandbox_uid
    if nursery.root or nursery.is_shared(uid):
        return remove_tree
    if subordinates is None:
        return lambda _folder: (
            f"it belongs to the subordinate uid {uid}, which cannot be had now: "
            "`atoll doctor` says why"
        )

    def remove(folder: Path) -> str:
        try:
            subordinates.act(lambda: _remove(folder))
        except (AtollError, OSError) as err:
            return str(err)
        return ""

    return remove


def _remove(folder: Path) -> None:
    error = remove_tree(folder)
    if error:
        raise Failed(error)


def _refuse(listener: socket.socket) -> None:
    """Connections are refused from now on, while the port stays owned."""
    try:
        listener.shutdown(socket.SHUT_RD)
    except OSError:
        return  # its network is gone already
