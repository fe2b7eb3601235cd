"""Processes that descend from one, and the time for which all of them stand still.

Without root no control group freezes them: each is stopped by a signal, parents before children, so
that none is told of the other's stop. A second process continues them if the first one dies or
takes too long.
"""

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from atoll.domain.errors import Failed, Unavailable

_STANDING = frozenset("TtZX")
"""Letters of /proc/[pid]/task/[tid]/stat: stopped, traced, or ended."""

_POLL_SECONDS = 0.001
_STILL, _MOVES, _WHOLE, _LATE, _DONE = b"still", b"moves", b"whole", b"late", b"done"
_WORD_BYTES = 8


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process; none of one that is gone."""
    pids: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            pids += map(int, path.read_text().split())
    return pids


def descendants(top: int) -> list[int]:
    """Return a process and all that descend from it, parents before children."""
    every, level = [top], [top]
    while level := [child for pid in level for child in children(pid)]:
        every += level
    return every


def send_to(pid: int, number: signal.Signals) -> None:
    """Signal a process that may be gone, or another user's by now."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


@contextlib.contextmanager
def standstill(top: int, seconds: float) -> Iterator[None]:
    """Have a process and all that descend from it stand still, for `seconds` at most. Those that
    stood before stay as they were. Raises `Unavailable` where they did not stand still to the end,
    `Failed`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    guard = os.fork()
    if guard == 0:
        ours.close()
        _guard(top, theirs, time.monotonic() + seconds)
    theirs.close()
    try:
        _expect(ours, _STILL, top, seconds)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                ours.send(_DONE)
        _expect(ours, _WHOLE, top, seconds)
    finally:
        ours.close()
        os.waitpid(guard, 0)


def _expect(guard: socket.socket, wanted: bytes, top: int, seconds: float) -> None:
    answer = guard.recv(_WORD_BYTES)
    if not answer:
        _continue(descendants(top))
        raise Failed("the process that has others stand still broke off")
    if answer != wanted:
        raise Unavailable(
            f"the files could not be kept within {seconds:g} s, for which whoever writes inside "
            "has to wait: stop the sandbox first"
        )


def _guard(top: int, keeper: socket.socket, deadline: float) -> NoReturn:
    """Stop all, and continue them once the keeper is done, has died, or has taken too long."""
    stop = _Stop(top)
    try:
        os.setsid()
        keeper.send(_STILL if stop.all(deadline) else _MOVES)
        ready = select.select([keeper], [], [], max(0.0, deadline - time.monotonic()))[0]
        stop.undo()
        keeper.send(_WHOLE if ready else _LATE)
        # What is left unread when a socket closes would take the other end's words with it.
        keeper.recv(_WORD_BYTES)
    finally:
        stop.undo()
        os._exit(0)


@dataclass(slots=True)
class _Stop:
    """Stop of all processes that descend from `top`."""

    top: int
    _stopped: list[int] = field(default_factory=list)

    def all(self, deadline: float) -> bool:
        """Stop all; returns whether they stood before the deadline."""
        before: set[int] = set()
        while time.monotonic() < deadline:
            stand = self._walk()
            # Looked at twice: what a process began as the first walk passed it is in the second.
            if stand and stand == before:
                return True
            before = stand
            time.sleep(_POLL_SECONDS)
        return False

    def _walk(self) -> set[int]:
        """Return all where every one stands, else none, and stop those that do not. A process is
        stopped once its parent stands: one that waits for its vforked child's exec (vfork(2)) would
        never stand while the child does."""
        every, level, whole = set[int](), [self.top], True
        while level:
            every.update(level)
            stand = {pid for pid in level if _stands(pid)}
            for pid in level:
                if pid not in stand:
                    self._stop(pid)
                    whole = False
            level = [child for pid in level if pid in stand for child in children(pid)]
            level = [pid for pid in level if pid not in every]
        return every if whole else set()

    def _stop(self, pid: int) -> None:
        if pid not in self._stopped:
            self._stopped.append(pid)
        send_to(pid, signal.SIGSTOP)

    def undo(self) -> None:
        """Continue those that were stopped here."""
        _continue(self._stopped)
        self._stopped = []


def _continue(pids: list[int]) -> None:
    """Continue processes, children first: a shell that goes on finds its job running."""
    for pid in reversed(pids):
        send_to(pid, signal.SIGCONT)


def _stands(pid: int) -> bool:
    """Return whether no thread of a process runs."""
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            if path.read_text().rpartition(")")[2].split()[0] not in _STANDING:
                return False
    return True
