"""The amounts that one sandbox spent at model providers, stored beside its journal.

They outlive a restart, because a cap that a restart resets would not hold. There is no fsync: the
file survives the process, not the host. Amounts change with every answer, so a file of one page is
written in place: the kernel writes a page whole, even if this process is killed.
`domain.broker.allowance` decides on the caps.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")

PAGE_BYTES = 4096


class Spending:
    """Millionths of a US dollar by provider, in one file that one process writes. With `path` None
    nothing is stored."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept: dict[str, int] = {} if path is None else _read(path)
        self._file: int | None = None

    @property
    def kept(self) -> Mapping[str, int]:
        """The amounts in the file."""
        return self._kept

    def keep(self, spent: Mapping[str, int]) -> None:
        """Write the amounts when they changed. Logs a write error and raises nothing."""
        now = {name: micros for name, micros in spent.items() if micros}
        if self._path is None or now == self._kept:
            return
        page = msgspec.json.encode(now).ljust(PAGE_BYTES)
        try:
            if self._file is not None and len(page) == PAGE_BYTES:
                os.pwrite(self._file, page, 0)
            else:
                self._replace(self._path, page)
            self._kept = now
        except OSError as error:
            log.error("what was spent could not be kept in %s: %s", self._path, error)

    def close(self) -> None:
        """Close the file. The next amounts are written to a new one."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _replace(self, path: Path, text: bytes) -> None:
        """Write a new file in the place of the old one. Only one of a page is kept open: a larger
        one would be cut short where the process is killed meanwhile."""
        self.close()
        fresh = path.with_name(path.name + ".new")
        fresh.write_bytes(text)
        fresh.replace(path)
        if len(text) == PAGE_BYTES:
            self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)


def _read(path: Path) -> dict[str, int]:
    try:
        sums = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}
    except (OSError, *UNREADABLE) as error:
        log.error("what was spent cannot be read from %s; it counts from nothing: %s", path, error)
        return {}
    return {name: micros for name, micros in sums.items() if micros > 0}
