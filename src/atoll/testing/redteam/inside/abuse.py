"""Attempts to exhaust shared resources.

Each is bounded by itself, too: a machine without limits must survive them.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
from pathlib import Path

from .attempts import Attempt, Facts, SkipAttempt

MANY_PROCESSES, MANY_TERMINALS, MANY_FILES, MANY_NAMES = 6000, 4200, 1_100_000, 40_000
HUGE = 1 << 40
PLACE = Path("/workspace/atoll-redteam-fill")
MIB = 1 << 20
MOST_MEMORY_MIB = 1024


def processes(facts: Facts) -> str:
    """Fork until it is refused; each child leaves its session."""
    facts.needs("pids")
    made = 0
    children = []
    try:
        while made < MANY_PROCESSES:
            child = os.fork()
            if child == 0:
                os.setsid()
                signal.pause()
            children.append(child)
            made += 1
    except OSError:
        return ""
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:  # the next attempt needs room, too
            os.waitpid(child, 0)
    return f"{made} processes"


def terminals(_facts: Facts) -> str:
    """Open PTYs, a pool of the whole machine (threat facts, 11)."""
    held: list[int] = []
    try:
        while len(held) < MANY_TERMINALS:
            held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EIO):
            return "" if len(held) < 1000 else f"{len(held)} terminals"
        if error.errno == errno.EMFILE and len(held) < 1000:
            raise SkipAttempt("no more than 1000 descriptors here") from error
        raise
    finally:
        for fd in held:
            os.close(fd)
    return f"{len(held)} terminals"


def descriptors(_facts: Facts) -> str:
    """Open files without end."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard > MANY_FILES:
        return f"{hard} open files are allowed"
    return ""


def core(_facts: Facts) -> str:
    """Write a core file by a crash (threat 56)."""
    if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
        return f"RLIMIT_CORE is {resource.getrlimit(resource.RLIMIT_CORE)}"
    os.chdir("/tmp")  # noqa: S108  a place inside
    child = os.fork()
    if child == 0:
        os.abort()
    return "a core was written" if os.WCOREDUMP(os.waitpid(child, 0)[1]) else ""


def one_file(facts: Facts) -> str:
    """Write a terabyte at once (threat 52)."""
    facts.needs("disk")
    fd = os.open(PLACE, os.O_CREAT | os.O_WRONLY)
    try:
        os.posix_fallocate(fd, 0, HUGE)
        return "a terabyte was given"
    except OSError:
        return ""
    finally:
        os.close(fd)
        PLACE.unlink()


def many_files(facts: Facts) -> str:
    """Create empty files without end (threat 52)."""
    facts.needs("disk")
    PLACE.mkdir()
    made = 0
    try:
        while made < MANY_NAMES:
            os.close(os.open(PLACE / str(made), os.O_CREAT | os.O_WRONLY))
            made += 1
    except OSError:
        return ""
    finally:
        for name in range(made):
            (PLACE / str(name)).unlink()
        PLACE.rmdir()
    return "" if _bounded_inodes() else f"{made} files, and no end of them"


def _bounded_inodes() -> bool:
    return 0 < os.statvfs(PLACE.parent).f_files < 10_000_000


def memory(facts: Facts) -> str:
    """Take more memory than the sandbox has, in a child that may die of it."""
    facts.needs("memory")
    limit = int(facts.values.get("memory_mb") or 0)
    if not 0 < limit <= MOST_MEMORY_MIB:
        raise SkipAttempt(f"the limit of {limit or 'unknown'} MiB is more than this attempt takes")
    child = os.fork()
    if child == 0:
        Path("/proc/self/oom_score_adj").write_text("1000")
        held = []
        for _ in range(limit + 128):
            held.append(b"\1" * MIB)
        os._exit(3)
    return "all of it was given" if os.waitpid(child, 0)[1] == 3 << 8 else ""


def memory_files(_facts: Facts) -> str:
    """Fill places in memory beyond their sizes."""
    unbounded = []
    for place in ("/tmp", "/dev/shm", "/run", "/home/agent"):  # noqa: S108  places inside
        usage = os.statvfs(place)
        if usage.f_blocks * usage.f_frsize > 8 << 30 or not usage.f_blocks:
            unbounded.append(place)
    return ", ".join(unbounded)


ATTEMPTS = [
    Attempt("57", "start processes without number", processes),
    Attempt("57", "open terminals without number", terminals),
    Attempt("57", "open files without number", descriptors),
    Attempt("56", "leave a core file", core),
    Attempt("52", "take a terabyte", one_file),
    Attempt("52", "make files without number", many_files),
    Attempt("57", "take all memory", memory),
    Attempt("57", "fill places of memory", memory_files),
]
