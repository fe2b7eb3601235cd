"""The teardown of a sandbox: its processes, groups, socket and mounts, and on request its files.

It runs in a short-lived child of the zygote, so that many sandboxes end at the same time. The order
is measured: lift the quota, signal the runtime, kill the groups, then each known process. The
result names what was verified gone and what remains.
"""

import contextlib
import os
import select
import signal
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.zygote.disk import image
from atoll.zygote.disk.engine_mounts import EngineMounts
from atoll.zygote.disk.trees import remove_tree
from atoll.zygote.host.home import BoxPlaces
from atoll.zygote.host.processes import children, send_to
from atoll.zygote.wall import cgroups

GRACE_SECONDS = 3.0
"""Time for a runtime to write its journal and close its terminals."""

DEATH_SECONDS = 10.0
_POLL_SECONDS = 0.004


class TeardownResult(msgspec.Struct, frozen=True):
    """Result of a teardown: what was removed and what remains, each a sentence or a name."""

    removed: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxTeardown:
    """A sandbox to tear down. `keep` leaves the files for the next start. `groups` are the
    sandbox's, `runtime_groups` those of its runtime. `is_ready` once its start reported its
    processes."""

    places: BoxPlaces
    groups: list[Path]
    runtime_groups: list[Path]
    runtime_pidfd: int | None
    inside_pidfds: tuple[int, ...]
    keep: bool
    engine_mounts: EngineMounts
    is_ready: bool = True
    remove: Callable[[Path], str] = remove_tree
    """Function that removes the files, as root of the subordinate uids where they belong to one."""

    @property
    def all_groups(self) -> list[Path]:
        """Groups of the sandbox and of its runtime."""
        return [*self.groups, *self.runtime_groups]


def tear_down(teardown: SandboxTeardown) -> TeardownResult:
    """End the sandbox and return the result. Never raises for what it finds."""
    removed: list[str] = []
    leftovers: list[str] = []
    _end_processes(teardown, removed, leftovers)
    _remove_groups(teardown.all_groups, removed, leftovers)
    _remove_run(teardown.places, removed, leftovers)
    _unmount_from_machine(teardown, leftovers)
    _await_unmounted(teardown.places, leftovers)
    if not teardown.keep:
        _remove_files(teardown, removed, leftovers)
    return TeardownResult(tuple(removed), tuple(leftovers))


def _end_processes(teardown: SandboxTeardown, removed: list[str], leftovers: list[str]) -> None:
    cgroups.lift_quota(teardown.groups)
    if teardown.runtime_pidfd is not None and not teardown.is_ready:
        kill_unreported(teardown.runtime_pidfd)
    fds = [fd for fd in (teardown.runtime_pidfd, *teardown.inside_pidfds) if fd is not None]
    alive = [fd for fd in fds if not has_ended(fd)]
    if teardown.runtime_pidfd in alive and teardown.keep:
        send_signal(teardown.runtime_pidfd, signal.SIGTERM)
        wait_until(lambda: has_ended(teardown.runtime_pidfd), GRACE_SECONDS)
    inside = sum(len(cgroups.members(group)) for group in teardown.groups[:1])
    for groups in (teardown.groups, teardown.runtime_groups):
        with contextlib.suppress(OSError):
            cgroups.kill(groups)
    for fd in alive:
        send_signal(fd, signal.SIGKILL)
    ended = wait_until(
        lambda: (
            all(has_ended(fd) for fd in alive)
            and not any(map(cgroups.members, teardown.all_groups))
        ),
        DEATH_SECONDS,
    )
    if not ended:
        stuck = sorted({pid for group in teardown.all_groups for pid in cgroups.members(group)})
        leftovers.append(f"processes that did not die within {DEATH_SECONDS:.0f} s: {stuck}")
    elif alive:
        removed.append(f"processes ({max(inside, len(alive))})")


def has_ended(pidfd: int | None) -> bool:
    """Return whether a process has ended (its pidfd is readable then)."""
    if pidfd is None:
        return True
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(0))


def send_signal(pidfd: int | None, number: signal.Signals) -> None:
    """Signal a process that may have ended."""
    if pidfd is not None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, number)


def kill_unreported(start: int) -> None:
    """Kill all processes that a start, given by its pidfd, began and has not reported, and the
    start. One that began none is left as it is.

    Without cgroups nothing else finds them: bwrap's child waits for bwrap before it asks to die
    with its parent, and would wait for ever. Each process is stopped before its children are read,
    so that none is added meanwhile, and ended last, so that no pid is used again."""
    send_signal(start, signal.SIGSTOP)
    if has_ended(start):
        return
    begun = found = children(_pid_of(start))
    while found:
        for pid in found:
            send_to(pid, signal.SIGSTOP)
        found = [child for pid in found for child in children(pid)]
        begun = [*found, *begun]
    for pid in begun:
        send_to(pid, signal.SIGKILL)
    send_signal(start, signal.SIGKILL if begun else signal.SIGCONT)


def _pid_of(pidfd: int) -> int:
    text = Path(f"/proc/self/fdinfo/{pidfd}").read_text()
    return int(text.partition("\nPid:")[2].split()[0])


def end_session(leader: int) -> None:
    """Kill the rest of the process group that `leader`, a process that ended, once led."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def wait_until(done: Callable[[], bool], seconds: float) -> bool:
    """Poll until `done`. An empty group or a free loop device sends no event to wait for."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _remove_groups(groups: list[Path], removed: list[str], leftovers: list[str]) -> None:
    there = [group for group in groups if group.exists()]
    left: list[Path] = there
    wait_until(lambda: not _are_busy(left), DEATH_SECONDS)
    left = [group for group in there if group.exists()]
    if left:
        leftovers += [f"cgroup {group}" for group in left]
    elif there:
        removed.append(f"cgroups ({len(there)})")


def _are_busy(groups: list[Path]) -> bool:
    # A group stays busy after its last process was reaped, for seconds on a loaded machine.
    return bool(cgroups.remove(groups))


def _remove_run(places: BoxPlaces, removed: list[str], leftovers: list[str]) -> None:
    try:
        places.rendezvous.unlink(missing_ok=True)
        places.link.unlink(missing_ok=True)
        if places.socket.exists():
            places.socket.unlink()
            removed.append("runtime socket")
        if places.run.exists():
            places.run.rmdir()
    except OSError as err:
        leftovers.append(f"{places.run}: {err}")


def _unmount_from_machine(teardown: SandboxTeardown, leftovers: list[str]) -> None:
    try:
        teardown.engine_mounts.unmount(teardown.places)
    except OSError as err:
        leftovers.append(f"{teardown.places.engine_mount}: {err}")


def _await_unmounted(places: BoxPlaces, leftovers: list[str]) -> None:
    """Wait until no loop device uses the image. The mount ends with the last process of its
    namespace."""
    if not places.image.exists():
        return
    if not wait_until(lambda: not image.loops_of(places.image), DEATH_SECONDS):
        leftovers.append(f"loop device {', '.join(image.loops_of(places.image))} still in use")


def _remove_files(teardown: SandboxTeardown, removed: list[str], leftovers: list[str]) -> None:
    places = teardown.places
    if not places.folder.exists():
        return
    error = teardown.remove(places.folder)
    if error:
        leftovers.append(f"{places.folder}: {error}")
    else:
        removed.append("workspace, agent state and journal")


def unlink_socket(path: Path) -> None:
    """Remove a socket left by an earlier zygote; a file of another kind stays."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
