"""The stop of a sandbox as the zygote performs it: close the doors, fork a child, release
everything held.

`teardown` ends the processes and removes the files; the caller knows who waits.
"""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Failed
from atoll.zygote.disk.trees import remove_tree
from atoll.zygote.host.children import Loop, detach
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records.entry import Phase, SandboxEntry
from atoll.zygote.stop.teardown import (
    SandboxTeardown,
    TeardownResult,
    send_signal,
    tear_down,
)
from atoll.zygote.wall import runtime_group


def begin_stop(
    loop: Loop, host: HostResources, entry: SandboxEntry, done: Callable[[TeardownResult], None]
) -> None:
    """Begin to stop `entry`. Its doors refuse connections at once but stay owned until everything
    inside is dead. Then call `done` with the result; no descriptor is left in `entry`."""
    entry.phase = Phase.STOPPING
    for run in entry.sudo_runs.values():
        send_signal(run.pidfd, signal.SIGKILL)
    for door in entry.doors:
        _refuse(door)
    for fd in entry.inside_pidfds[:1]:
        loop.unwatch(fd)
    sandbox_id, pidfd = entry.record.sandbox_id, entry.pidfd
    teardown = _teardown_of(host, entry)
    found: list[TeardownResult] = []

    def run_teardown(channel: socket.socket) -> None:
        fds = {
            fd
            for fd in (channel.fileno(), teardown.runtime_pidfd, *teardown.inside_pidfds)
            if fd is not None
        }
        detach(fds | teardown.engine_mounts.descriptors | host.namespaces)
        channel.send(msgspec.json.encode(tear_down(teardown)))

    def finish_teardown(_status: int) -> None:
        for door in entry.doors:
            door.close()
        for fd in (*entry.inside_pidfds, *([] if pidfd is None else [pidfd])):
            os.close(fd)
        broke = TeardownResult(leftovers=(f"the teardown of {sandbox_id} broke off",))
        done(found[0] if found else broke)

    child = loop.fork(
        run_teardown,
        lambda packet, _fds: found.append(msgspec.json.decode(packet, type=TeardownResult)),
        finish_teardown,
    )
    os.close(child.pidfd)


def _teardown_of(host: HostResources, entry: SandboxEntry) -> SandboxTeardown:
    return SandboxTeardown(
        places=host.home.box(entry.record.sandbox_id),
        groups=host.groups.paths(entry.record.group_name),
        runtime_groups=runtime_group.paths(host.groups, entry.record.group_name),
        runtime_pidfd=entry.pidfd,
        inside_pidfds=entry.inside_pidfds,
        keep=entry.keep,
        engine_mounts=host.storage.engine_mounts,
        is_ready=entry.is_ready,
        remove=_remover(host, entry),
    )


def _remover(host: HostResources, entry: SandboxEntry) -> Callable[[Path], str]:
    subordinates, uid = host.subordinates, entry.record.sandbox_uid
    if host.root or host.is_shared(uid):
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
    """Refuse connections from now on, while the port stays owned."""
    try:
        listener.shutdown(socket.SHUT_RD)
    except OSError:
        return  # its network is gone already
