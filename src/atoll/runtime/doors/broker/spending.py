"""The amounts that one sandbox spent at model providers, stored beside its journal.

They outlive a restart, because a cap that a restart resets would not hold. There is no fsync: the
file survives the process, not the host. `domain.broker.allowance` decides on the caps.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")


class Spending:
    """Millionths of a US dollar by provider, in one file that one process writes. With `path` None
    nothing is stored."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept: dict[str, int] = {} if path is None else _read(path)

    @property
    def kept(self) -> Mapping[str, int]:
        """The amounts in the file."""
        return self._kept

    def keep(self, spent: Mapping[str, int]) -> None:
        """Write the amounts when they changed. Logs a write error and raises nothing."""
        now = {name: micros for name, micros in spent.items() if micros}
        if self._path is None or now == self._kept:
            return
        fresh = self._path.with_name(self._path.name + ".new")
        try:
            fresh.write_bytes(msgspec.json.encode(now))
            fresh.replace(self._path)
            self._kept = now
        except OSError as error:
            log.error("what was spent could not be kept in %s: %s", self._path, error)


def _read(path: Path) -> dict[str, int]:
    try:
        sums = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}
    except (OSError, *UNREADABLE) as error:
        log.error("what was spent cannot be read from %s; it counts from nothing: %s", path, error)
        return {}
    return {name: micros for name, micros in sums.items() if micros > 0}
