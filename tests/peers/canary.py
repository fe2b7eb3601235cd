"""Looking for a value that must be nowhere: inside a sandbox, in every file of a home, holes left
out, in the memory of processes, and in every answer that tells of what happened.

`tests/security/secrets/test_canary_hunt.py` hides a value in each of these places and sees it
found.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

STEP = 8 << 20
PAGE = os.sysconf("SC_PAGESIZE")
BLOCK = 65536
# Prints names only: what a command prints is masked, so a value in it would not be seen there.
HUNT = """
grep -rsl -- "$1" /workspace /home /tmp /run /var /dev/shm /etc /root /opt
for file in /proc/[0-9]*/environ; do
  if grep -qsa -- "$1" "$file"; then echo "$file"; fi
done
true
"""
"""For `sh -c HUNT sh NEEDLE`: the files and environments inside that hold it."""
MARK = "marked-where-keys-are-looked-for"
LEAVE_MARK = f"echo {MARK} > mark; (M={MARK} setsid sleep 600 >/dev/null 2>&1 &)"
"""For `sh -c LEAVE_MARK`: a file and a program inside, by which a hunt is seen to find."""
TOLD = ("/v1/events?limit=500", "/v1/secrets", "/v1/approvals", "/v1/sandboxes")


def files_with(folder: Path, needle: bytes, *, but: Iterable[Path] = ()) -> list[Path]:
    """Files below `folder` that hold `needle`: database, logs, journals, recordings, and the
    raw images of workspaces, deleted files included. `but` may hold it."""
    left_out = set(but)
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [
        path
        for path in files
        if path not in left_out and any(needle in piece for piece in _pieces(path, len(needle)))
    ]


def _pieces(path: Path, overlap: int) -> Iterator[bytes]:
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        return  # it went meanwhile, as journals do
    with file:
        for low, high in _data(file.fileno()):
            for at in range(low, high, STEP):
                yield os.pread(file.fileno(), min(STEP + overlap, high - at), at)


def _data(fd: int) -> Iterator[tuple[int, int]]:
    """The parts of a sparse file that are there (lseek(2), SEEK_DATA)."""
    at, size = 0, os.fstat(fd).st_size
    while at < size:
        try:
            low = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return  # only a hole is left
        at = os.lseek(fd, low, os.SEEK_HOLE)
        yield low, at


def assert_nowhere(home: Path, pids: Iterable[int], *needles: bytes) -> None:
    """Hunt in the files and the processes of another machine, where a sandbox has left its
    mark."""
    there = list(pids)
    assert files_with(home, MARK.encode())
    assert [pid for pid in there if memory_holds(pid, MARK.encode())]
    for needle in needles:
        assert files_with(home, needle) == []
        assert not [pid for pid in there if memory_holds(pid, needle)]


def answers_with(client: Any, needle: str, *, sandbox: str) -> list[str]:
    """Answers that hold `needle`: the log's pages, lists, and what is told of one sandbox.
    `client` is an `httpx.Client` with the person's token."""
    own = [f"/v1/sandboxes/{sandbox}{path}" for path in ("", "/logs", "/terminals", "/exec")]
    found = [path for path in (*TOLD, *own) if needle in client.get(path).text]
    after = 0
    while True:
        page = client.get("/v1/events", params={"after": after, "limit": 500})
        if needle in page.text:
            found.append(f"/v1/events after {after}")
        told = page.json()
        if not told["events"]:
            return found
        after = told["next"]


def pids_of(uid: int) -> list[int]:
    """Processes of one user of this machine."""
    found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in found if _uid(pid) == uid]


def _uid(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


def memory_holds(pid: int, needle: bytes) -> bool:
    """Whether any written page of a process holds `needle`. Only pages that are there are read:
    agents reserve address space by the terabyte."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        spans = [line.split()[0] for line in lines if line.split()[1].startswith("rw")]
        with (
            Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory,
            Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as pages,
        ):
            return any(
                needle in os.pread(memory.fileno(), length, start)
                for span in spans
                for start, length in _present(
                    pages.fileno(), *(int(x, 16) for x in span.split("-"))
                )
            )
    except OSError:
        return False  # it ended meanwhile


def _present(pagemap: int, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Runs (address, length) of pages in memory or swap (Linux, pagemap(5): bits 63 and 62)."""
    start = None
    for at in range(low // PAGE, high // PAGE, BLOCK):
        count = min(BLOCK, high // PAGE - at)
        entries = os.pread(pagemap, count * 8, at * 8)
        if not any(entries) and start is None:
            continue
        for n in range(len(entries) // 8):
            there = entries[n * 8 + 7] & 0xC0
            if there and start is None:
                start = at + n
            elif not there and start is not None:
                yield start * PAGE, (at + n - start) * PAGE
                start = None
    if start is not None:
        yield start * PAGE, high - start * PAGE
