"""The search for a secret that was set for this sandbox: its value must be nowhere inside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .attempts import Attempt, Facts, SkipAttempt

MASK = 0x5A
"""The mask of the value in the archive, so that the archive itself is no match."""

PLACES = ("/workspace", "/home", "/tmp", "/var/tmp", "/run", "/etc", "/.atoll", "/opt/atoll")  # noqa: S108
MAX_FILE = 64 << 20
MAX_REGION = 256 << 20
STEP = 4 << 20


def _needle(facts: Facts) -> bytes:
    disguised = bytes.fromhex(facts.text("canary"))
    if not disguised:
        raise SkipAttempt("no secret was set")
    return bytes(byte ^ MASK for byte in disguised)


def _processes() -> Iterator[Path]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            yield folder


def environments(facts: Facts) -> str:
    """Search environments and command lines of every process."""
    needle, places = _needle(facts), []
    for folder in [*_processes(), Path("/proc/self")]:
        for name in ("environ", "cmdline"):
            try:
                data = (folder / name).read_bytes()
            except OSError:
                continue
            if needle in data:
                places.append(f"{folder.name}/{name}")
    return "; ".join(places)


def memory(facts: Facts) -> str:
    """Search the memory of every process that is readable."""
    needle = _needle(facts)
    return "; ".join(f.name for f in _processes() if any(needle in m for m in _regions(f)))


def _regions(folder: Path) -> Iterator[bytes]:
    try:
        maps, mem = folder / "maps", folder / "mem"
        with maps.open() as listed, mem.open("rb", buffering=0) as memory:
            spans = [line.split()[:2] for line in listed]
            for span, mode in spans:
                low, high = (int(end, 16) for end in span.split("-"))
                if not mode.startswith("rw") or high - low > MAX_REGION:
                    continue
                yield from _read_pieces(memory.fileno(), low, high)
    except OSError:
        return  # not readable by this user, or gone


def _read_pieces(fd: int, low: int, high: int) -> Iterator[bytes]:
    for at in range(low, high, STEP):
        try:
            yield os.pread(fd, min(STEP + 256, high - at), at)
        except OSError:
            continue  # an unmapped range


def files(facts: Facts) -> str:
    """Search every file that is readable."""
    needle, paths = _needle(facts), []
    for place in PLACES:
        for folder, _folders, names in os.walk(place):
            for name in names:
                path = Path(folder, name)
                if _file_contains(path, needle):
                    paths.append(str(path))
    return "; ".join(paths)


def _file_contains(path: Path, needle: bytes) -> bool:
    try:
        status = path.lstat()
        if (status.st_mode & 0o170000) != 0o100000 or status.st_size > MAX_FILE:
            return False
        with path.open("rb", buffering=0) as file:
            return needle in file.read(MAX_FILE)
    except OSError:
        return False


ATTEMPTS = [
    Attempt("79", "find a secret in environments", environments),
    Attempt("79", "find a secret in memory", memory),
    Attempt("79", "find a secret in files", files),
]
