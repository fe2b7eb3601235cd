"""Connections that nobody accepts, of TCP and of unix sockets, whose memory counts as nobody's.

The twin of native/init/unaccepted.c, which explains more. A listening socket counts as one.
"""

import itertools
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MOST_UNACCEPTED = 4096
GOING_SECONDS = 2.0
LISTENING, ACCEPTS = "0A", 0x10000


def number_of(path: str, word: str) -> int:
    """Return the number after a word at the beginning of a line; -1 where there is none."""
    with suppress(OSError):
        found = re.search(rf"^{word}\s*(\d+)", Path(path).read_text(), re.MULTILINE)
        return int(found[1]) if found else -1
    return -1


def count_sockets() -> int:
    """Return how many there are of every family, those that wait to be accepted included."""
    return number_of("/proc/net/sockstat", "sockets: used")


def queues() -> Counter[str]:
    """Return how many connections nobody has accepted, by the listening socket's link in
    /proc/PID/fd."""
    waiting: Counter[str] = Counter()
    if count_sockets() > MOST_UNACCEPTED:
        for link, count in itertools.chain(_tcp("/proc/net/tcp"), _tcp("/proc/net/tcp6"), _unix()):
            waiting[link] += count
    return waiting


def _tcp(path: str) -> Iterator[tuple[str, int]]:
    with suppress(OSError), Path(path).open() as lines:
        next(lines)
        for line in lines:
            words = line.split()
            if words[3] != LISTENING:  # listeners come first
                return
            yield f"socket:[{words[9]}]", int(words[4].partition(":")[2], 16) + 1


def _unix() -> Iterator[tuple[str, int]]:
    """Yield listeners of unix sockets, then connections: one that waits has no inode yet, and the
    name of its listener."""
    with suppress(OSError), Path("/proc/net/unix").open(errors="surrogateescape") as lines:
        found = [words for line in lines if len(words := line.split(None, 7)) > 6]
    listening = {words[-1]: f"socket:[{words[6]}]" for words in found if _listens(words)}
    yield from ((link, 1) for link in listening.values())
    yield from ((listening.get(words[-1], ""), 1) for words in found if words[6] == "0")


def _listens(words: list[str]) -> bool:
    try:
        return bool(int(words[3], 16) & ACCEPTS)
    except ValueError:
        return False


class Unowned:
    """Connections of listeners that no process shows: one hides them or passes them on, and all
    end, or a process is just ending, and they go. Those do not become more, and not stay."""

    def __init__(self) -> None:
        self._first, self._since = 0, 0.0

    def end(self, count: int) -> bool:
        """Return whether there is something to look at again soon."""
        now = time.monotonic()
        if count <= MOST_UNACCEPTED // 2:
            self._first = 0
            return False
        if not self._first:
            self._first, self._since = count, now
        if count > self._first or now > self._since + GOING_SECONDS:
            self._first = 0
            with suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        return True


def end_unaccepted(unowned: Unowned) -> bool:
    """End who holds listeners with too many connections, or all where that is hidden."""
    waiting = queues()
    total = sum(waiting.values())
    if total <= MOST_UNACCEPTED:
        return unowned.end(0)
    held: Counter[int] = Counter()
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and each.name != "1":
            with suppress(OSError):
                for fd in (each / "fd").iterdir():
                    held[int(each.name)] += waiting[str(fd.readlink())]
    return unowned.end(total - held.total()) | end_holders(held, MOST_UNACCEPTED)


def end_holders(held: Counter[int], most: int) -> bool:
    """Kill those who hold most, until the others hold half of what may be held."""
    total = held.total()
    if total <= most:
        return False
    for pid, count in held.most_common():
        if total <= most // 2:
            break
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        total -= count
    return True
