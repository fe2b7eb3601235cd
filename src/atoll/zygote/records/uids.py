"""User ids for control planes, runtimes and sandboxes: each is given out once and never again.

As root the counter belongs to the machine, so two homes never share a uid. A copy in each home
keeps the promise when a home moves to another machine.
"""

import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import Failed, LimitReached

FIRST_UID = 1_900_000_000
LAST_UID = 2_147_000_000
MACHINE_COUNTER = Path("/var/lib/atoll/next-uid")
RESERVED_UIDS = 64


@dataclass(frozen=True, slots=True)
class Counter:
    """Counter of free uids, in a file of the machine and one of the home."""

    home_file: Path
    machine_file: Path = MACHINE_COUNTER
    first: int = FIRST_UID
    last: int = LAST_UID

    def take(self, count: int) -> int:
        """Return the first of `count` consecutive uids that were never used. Raises `LimitReached`,
        `Failed`."""
        try:
            self.machine_file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.machine_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as err:
            raise Failed(
                f"no uid can be given out: {self.machine_file} cannot be written ({err}); "
                "make its directory writable for root"
            ) from err
        with os.fdopen(handle, "r+") as counter:
            fcntl.flock(counter, fcntl.LOCK_EX)
            first = max(
                self.first,
                _parse_number(counter.read()),
                _parse_number(_read_or_empty(self.home_file)),
            )
            if first + count > self.last:
                raise LimitReached(
                    f"all uids up to {self.last} have been given out on this machine"
                )
            counter.seek(0)
            counter.write(f"{first + count}\n")
            counter.flush()
            os.fsync(counter.fileno())
        self.home_file.write_text(f"{first + count}\n")
        return first


@dataclass(slots=True)
class Reserve:
    """Block of uids taken ahead, so that a start waits for no disk. Uids left when this process
    ends are never given out: a uid may be lost, but not shared."""

    counter: Counter
    size: int = RESERVED_UIDS
    _block: range = field(default=range(0))

    def take(self, count: int) -> int:
        """Return the first of `count` consecutive uids that were never used. Raises as
        `Counter.take`."""
        if count > len(self._block):
            first = self.counter.take(max(count, self.size))
            self._block = range(first, first + max(count, self.size))
        taken, self._block = self._block[0], self._block[count:]
        return taken


def _parse_number(text: str) -> int:
    return int(text) if text.strip().isdecimal() else 0


def _read_or_empty(path: Path) -> str:
    """Return a file's text; empty when there is no file."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
