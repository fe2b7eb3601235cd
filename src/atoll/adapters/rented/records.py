"""The records of rented machines, in files of the home: written before a machine is rented.

After a crash the record tells whether a create may have been under way, and by which token.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec


class Record(msgspec.Struct, frozen=True):
    """A sandbox's machine. `key` is the id of the secret that pays for it. Without a `machine` its
    create was sent, and no answer came."""

    key: str
    token: str
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Records:
    """A directory of records, and of the files that sandboxes keep while no machine is rented."""

    folder: Path

    def read(self, sandbox_id: str) -> Record | None:
        """Return the record of a sandbox; None when there is none that can be read."""
        try:
            return msgspec.json.decode(self._record(sandbox_id).read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, sandbox_id: str, record: Record) -> None:
        """Write a record that outlives a crash of this machine."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self._record(sandbox_id)
        fresh = target.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(msgspec.json.encode(record))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)

    def remove(self, sandbox_id: str) -> None:
        """Forget a sandbox's machine."""
        self._record(sandbox_id).unlink(missing_ok=True)

    def kept(self, sandbox_id: str) -> Path:
        """Return the place of the archive of a sandbox's files."""
        return self.folder / f"{sandbox_id}.tar.gz"

    def _record(self, sandbox_id: str) -> Path:
        return self.folder / f"{sandbox_id}.json"
