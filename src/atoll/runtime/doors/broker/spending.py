"""What model providers have cost one sandbox, kept beside its journal over stops and starts.

A cap would mean little if a restart forgot what was spent. There is no fsync: it survives its
process, not the host. What may be spent is `domain.broker.allowance`'s business.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")


class Spending:
    """Millionths of a US dollar by provider, in one file that one process writes; `path` None
    keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept: dict[str, int] = {} if path is None else _read(path)

    @property
    def kept(self) -> Mapping[str, int]:
        """What stands in the file."""
        return self._kept

    def keep(self, spent: Mapping[str, int]) -> None:
        """Write it down when it changed. A full disk costs the record, never the caller."""
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
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}
    except (OSError, *UNREADABLE) as error:
        log.error("what was spent cannot be read from %s; it counts from nothing: %s", path, error)
        return {}
    return {name: micros for name, micros in found.items() if micros > 0}
