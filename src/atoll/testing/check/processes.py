"""The processes of a sandbox on this machine, as a check finds them behind its extension's back.

A backend may have several for each sandbox: some carry its id, and others end with one of them.
Only processes that began after this one are looked at: what was there before is somebody else's.
"""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

_PROC = Path("/proc")
_LISTENS = "0A"
"""The state of a TCP socket that listens, in /proc/net/tcp (proc_pid_net(5))."""

_NUMBERS = 20


def find_titled(hostname: str) -> list[int]:
    """Return the runtime of this name, where its title tells it."""
    title = b"atoll runtime " + hostname.encode()
    return [pid for pid in _younger() if command_line(pid).rstrip(b"\0") == title]


def find_listening(address: str) -> list[int]:
    """Return the processes that listen at a runtime's address, where that is of this machine and
    their descriptors may be read."""
    inodes = _inodes_of(address)
    return [pid for pid in _younger() if inodes & _sockets_of(pid)] if inodes else []


def find_carrying(word: str) -> list[int]:
    """Return every process whose command line has a word, with all that these started."""
    children: dict[int, list[int]] = {}
    for pid in _younger():
        children.setdefault(_parent_of(pid), []).append(pid)
    waiting = [pid for pid in _younger() if word.encode() in command_line(pid)]
    pids: list[int] = []
    while waiting:
        pid = waiting.pop(0)
        if pid not in pids:
            pids.append(pid)
            waiting += children.get(pid, ())
    return pids


def end_all(pids: Iterable[int]) -> int:
    """End processes; return how many there were. One may end by the end of another, and one of
    somebody else's is left alone."""
    ended = 0
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            ended += 1
    return ended


def command_line(pid: int) -> bytes:
    """Return the words of a process, each ended by NUL; none of one that is gone."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def _younger() -> list[int]:
    """Return the processes that began after this one."""
    ours = _start_time(os.getpid())
    pids = (int(place.name) for place in _PROC.glob("[0-9]*"))
    return sorted(pid for pid in pids if _start_time(pid) > ours)


def _parent_of(pid: int) -> int:
    return _status_of(pid)[1]


def _start_time(pid: int) -> int:
    """Return when a process began, in ticks since the boot."""
    return _status_of(pid)[19]


def _status_of(pid: int) -> list[int]:
    """Return the numbers of a process from its state on, which counts as 0 (proc_pid_stat(5)); only
    zeros of one that is gone."""
    try:
        words = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0] * _NUMBERS
    return [0, *map(int, words[1:_NUMBERS])]


def _sockets_of(pid: int) -> set[str]:
    """Return the inodes of a process's sockets; none where they may not be read."""
    inodes = set()
    with suppress(OSError):
        for place in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                kind, _, inode = str(place.readlink()).partition(":")
                if kind == "socket":
                    inodes.add(inode.strip("[]"))
    return inodes


def _inodes_of(address: str) -> set[str]:
    """Return the inodes of the sockets that listen at an address of this machine."""
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        rows = [line.split() for line in _table("unix")]
        return {row[6] for row in rows if len(row) > 7 and row[7] == path}
    parts = urlsplit(address)
    if parts.hostname not in ("127.0.0.1", "::1", "localhost") or parts.port is None:
        return set()
    end = f":{parts.port:04X}"
    rows = [line.split() for name in ("tcp", "tcp6") for line in _table(name)]
    return {row[9] for row in rows if row[1].endswith(end) and row[3] == _LISTENS}


def _table(name: str) -> list[str]:
    try:
        return (_PROC / "net" / name).read_text().splitlines()[1:]
    except OSError:
        return []
