"""Bounds on kernel memory that only counting finds: locks on files, open files, sockets.

The twin of native/init/slab.c, which explains more. Once a second all is counted, and at once where
one number of the machine grew; whoever holds too much is killed.
"""

import itertools
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .unaccepted import Unowned, count_sockets, end_holders, end_unaccepted, number_of

LOOK_SECONDS, SOON_SECONDS, COUNT_SECONDS, READING_SECONDS = 0.25, 0.05, 1.0, 0.5
GROWN_KIB = 4096
MOST_LOCKS, FEW_LOCKS, MOST_FILES, MOST_SOCKETS = 10_000, 1_000, 131_072, 16_384
SMALL_TABLE, USUAL_MAPS = 256, 256
MOST_DIRECTORIES = 2048
OBJECTS = ("anon_inode:[eventpoll]", "anon_inode:[timerfd]", "anon_inode:[eventfd")


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
                size = next(filter(None, map(_open_files, tasks)), 0)
                held[int(each.name)] = size + (_mapped_of(each) if many else 0)
    return held


def _open_files(task: Path) -> int:
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


def count_objects() -> int:
    """Return how many timers, events and polls all processes but init have open, whose objects no
    control group counts. It is never too low: what a copy of a table has counts again, and so does
    everything that a process hides."""
    processes = (each for each in Path("/proc").iterdir() if each.name.isdigit())
    return sum(_objects_of(each) for each in processes if each.name != "1")


def _objects_of(process: Path) -> int:
    """Return those of the one table that all threads share, which the living ones show."""
    with suppress(OSError):
        return next(filter(None, map(_objects_of_task, (process / "task").iterdir())), 0)
    return 0


def _objects_of_task(task: Path) -> int:
    try:
        return sum(link.startswith(OBJECTS) for link in _links_of(task / "fd"))
    except PermissionError:
        return _open_files(task)
    except OSError:
        return 0


def _links_of(folder: Path) -> Iterator[str]:
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            yield str(file.readlink())


def directories() -> Counter[int]:
    """Return open directories by process, and everything that a process hides: one that was read
    in part keeps the names of a block."""
    held: Counter[int] = Counter()
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and each.name != "1":
            with suppress(OSError):
                found = filter(None, map(_directories_of_task, (each / "task").iterdir()))
                held[int(each.name)] = next(found, 0)
    return held


def _directories_of_task(task: Path) -> int:
    try:
        return sum(file.is_dir() for file in (task / "fd").iterdir())
    except PermissionError:
        return _open_files(task)
    except OSError:
        return 0


def count_everything(unowned: Unowned) -> bool:
    """Count what is held and end who holds too much; return whether to count again soon."""
    # Before Linux 6.12 an accepted socket counts as nobody's.
    most = MOST_SOCKETS if count_sockets() > MOST_SOCKETS else MOST_FILES
    opened = files()
    many = opened.total() > MOST_DIRECTORIES
    ended = [end_holders(*locks()), end_holders(opened, most)]
    if many:
        ended.append(end_holders(directories(), MOST_DIRECTORIES))
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
