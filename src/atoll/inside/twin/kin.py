"""Processes by descent, from /proc/PID/task/TID/children.

Wardens are subreapers, so even a daemon that left its session and its group still has an ancestor.
"""

import errno
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 10.0
MAX_WORDS = 200
"""The bytes of a command line that are reported."""


def children_of(pid: int) -> list[int]:
    """Return the direct children of all its threads; none when it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_bytes().split())
    return found


def descendants(ancestor: int) -> list[int]:
    """Return every process it started, however detached."""
    everyone = children_of(ancestor)
    for pid in everyone:
        everyone += children_of(pid)
    return everyone


def describe(pid: int) -> bytes:
    """Return the start of its command line, else its short name; empty when it is gone."""
    for name in ("cmdline", "comm"):
        with suppress(OSError):
            text = Path(f"/proc/{pid}/{name}").read_bytes()[:MAX_WORDS].rstrip(b"\0\n")
            if text:
                return text.replace(b"\0", b" ")
    return b""


def signal_kin(ancestor: int, number: int, spared: frozenset[int] = frozenset()) -> int:
    """Signal every descendant once; for KILL and STOP each is stopped before its children are
    read."""
    everyone = [pid for pid in children_of(ancestor) if pid not in spared]
    for pid in everyone:
        if number in (signal.SIGKILL, signal.SIGSTOP):
            with suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        everyone += children_of(pid)
    struck = 0
    for pid in everyone:
        with suppress(OSError):
            os.kill(pid, number)
            struck += 1
    return struck


def kill_kin(ancestor: int, still: Callable[[], bool] = lambda: True) -> int:
    """Kill descendants until there are none; return 0 or ETIMEDOUT."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if not still() or signal_kin(ancestor, signal.SIGKILL) == 0:
            return 0
        if ancestor == os.getpid():
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        time.sleep(0.001)
    return errno.ETIMEDOUT


def foreground_group(pid: int) -> int:
    """Return the foreground group of its terminal (fields 7 and 8 of its stat), or 0."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return max(int(fields[5]), 0) if int(fields[4]) else 0
    return 0
