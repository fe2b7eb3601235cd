"""Bounds on kernel memory that only counting finds: locks on files, open files, connections.

The twin of native/init/slab.c, which explains more. Once a second all is counted, and at once where
one number of the machine grew; whoever holds too much is killed.
"""

import itertools
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LOOK_SECONDS, SOON_SECONDS, COUNT_SECONDS, READING_SECONDS = 0.25, 0.05, 1.0, 0.5
GOING_SECONDS = 2.0
GROWN_KIB = 4096
MOST_LOCKS, FEW_LOCKS, MOST_FILES, MOST_UNACCEPTED = 10_000, 1_000, 131_072, 8_192
SMALL_TABLE, USUAL_MAPS = 256, 256
LISTENING = "0A"


def number_of(path: str, word: str) -> int:
    """Return the number after a word at the beginning of a line; -1 where there is none."""
    with suppress(OSError):
        found = re.search(rf"^{word}\s*(\d+)", Path(path).read_text(), re.MULTILINE)
        return int(found[1]) if found else -1
    return -1


def locks() -> tuple[Counter[int], int]:
    """Return locks by process, and how many there may be: few where reading takes long.

    No more is read than shows that there are too many: others wait for their locks meanwhile.
    """
    held: Counter[int] = Counter()
    until = time.monotonic() + READING_SECONDS
    with suppress(OSError), Path("/proc/locks").open() as lines:
        for line in lines:
            words = line.replace("->", "").split()
            if len(words) > 4 and int(words[4]) > 1:
                held[int(words[4])] += 1
            if held.total() > MOST_LOCKS or time.monotonic() > until:
                break
    return held, MOST_LOCKS if time.monotonic() < until else FEW_LOCKS


def files() -> Counter[int]:
    """Return open files by process. Those that are mapped are looked at only where the whole
    machine has more open than one may."""
    held: Counter[int] = Counter()
    many = not 0 <= number_of("/proc/sys/fs/file-nr", "") <= MOST_FILES
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and each.name != "1":
            with suppress(OSError):
                # Where the first thread has ended, the others have their one table.
                tasks = itertools.chain([each], (each / "task").iterdir())
                size = next(filter(None, map(_open_of, tasks)), 0)
                held[int(each.name)] = size + (_mapped_of(each) if many else 0)
    return held


def _open_of(task: Path) -> int:
    """Return open files of a task; before Linux 6.2 the size of the table stands for them."""
    size = (task / "fd").stat().st_size
    if not size and (table := number_of(f"{task}/status", "FDSize:")) > SMALL_TABLE:
        return table
    return size


def _mapped_of(process: Path) -> int:
    """Return mapped files beyond those of ordinary programs; none where a process hides them, as
    this program's own helpers do."""
    found = 0
    with suppress(OSError), (process / "maps").open(errors="replace") as lines:
        found = sum(1 for line in lines if line.split(None, 5)[4] != "0")
    return max(0, found - USUAL_MAPS)


def queues() -> dict[str, int]:
    """Return how many connections nobody has accepted, by the listening socket's link in
    /proc/PID/fd."""
    tables = (("/proc/net/sockstat", "TCP: inuse"), ("/proc/net/sockstat6", "TCP6: inuse"))
    if sum(max(0, number_of(*each)) for each in tables) <= MOST_UNACCEPTED:
        return {}
    return dict(itertools.chain(_listeners("/proc/net/tcp"), _listeners("/proc/net/tcp6")))


def _listeners(path: str) -> Iterator[tuple[str, int]]:
    with suppress(OSError), Path(path).open() as lines:
        next(lines)
        for line in lines:
            words = line.split()
            if words[3] != LISTENING:  # listeners come first
                return
            yield f"socket:[{words[9]}]", int(words[4].partition(":")[2], 16)


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
                    held[int(each.name)] += waiting.get(str(fd.readlink()), 0)
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


def count_everything(unowned: Unowned) -> bool:
    """Count what is held and end who holds too much; return whether to count again soon."""
    ended = [end_holders(*locks()), end_holders(files(), MOST_FILES)]
    return any((*ended, end_unaccepted(unowned)))


def _look() -> None:
    held, counted = number_of("/proc/meminfo", "SUnreclaim:"), time.monotonic()
    unowned, again = Unowned(), False
    while True:
        now = number_of("/proc/meminfo", "SUnreclaim:")
        grown, held = now >= held + GROWN_KIB, min(held, now)
        if again or grown or time.monotonic() >= counted + COUNT_SECONDS:
            # What grew may grow on; and those that are left may hold too much, too.
            again = count_everything(unowned)
            held, counted = now, time.monotonic()
        time.sleep(SOON_SECONDS if again or grown else LOOK_SECONDS)


def watch_slab() -> None:
    """Begin; only as pid 1, since otherwise not all that /proc shows is inside."""
    if os.getpid() == 1:
        threading.Thread(target=_look, daemon=True).start()
