"""A database in memory, whose tables are lists of texts."""

import gzip
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from atoll.domain.errors import AtollError, Conflict, Invalid, NotFound
from atoll.ports.database import (
    DatabaseStatus,
    Headway,
    Migrated,
    ProjectionLag,
    TableCopy,
    TableSize,
)

NEWEST = "0007"
MODEL = "agents"


@dataclass(slots=True)
class FakeDatabase:
    """A `ports.database.Database` of `rows`, by table; None has no schema. Each method raises
    `failure` while it is set."""

    rows: Mapping[str, Sequence[str]] | None = None
    failure: AtollError | None = None
    calls: list[str] = field(default_factory=list)

    def status(self) -> DatabaseStatus:
        """See the port."""
        self._note("status")
        revision = None if self.rows is None else NEWEST
        sizes = tuple(TableSize(name, len(rows), None) for name, rows in (self.rows or {}).items())
        lags = () if self.rows is None else (ProjectionLag(MODEL, 1, 0),)
        return DatabaseStatus("sqlite", "memory", revision, NEWEST, 0, sizes, lags)

    def migrate(self) -> Migrated:
        """See the port."""
        self._note("migrate")
        before = None if self.rows is None else NEWEST
        self.rows = {} if self.rows is None else self.rows
        return Migrated(before, NEWEST)

    def rebuild(
        self, names: Collection[str] = (), headway: Headway | None = None
    ) -> tuple[ProjectionLag, ...]:
        """See the port."""
        self._note("rebuild")
        if set(names) - {MODEL}:
            raise NotFound("There is no such projection.")
        if self.rows is None:
            raise Conflict("There is no schema: migrate first.")
        if headway is not None:
            headway(1, 1)
        return (ProjectionLag(MODEL, 1, 0),)

    def export(self, to: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""
        self._note("export")
        if self.rows is None:
            raise Conflict("There is no schema: migrate first.")
        lines = [json.dumps([name, row]) for name, rows in self.rows.items() for row in rows]
        body = "\n".join([NEWEST, json.dumps(list(self.rows)), *lines])
        packed = gzip.compress(f"{body}\n{_digest(body.splitlines()[1:])}".encode(), mtime=0)
        to.write(packed)
        return self._copies(headway)

    def load(self, source: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""
        self._note("import")
        if any((self.rows or {}).values()):
            raise Conflict("The database is not empty.")
        try:
            revision, names, *lines, digest = gzip.decompress(source.read()).decode().splitlines()
        except (ValueError, OSError, EOFError) as err:
            raise Invalid("The archive is damaged.") from err
        if revision != NEWEST:
            raise Invalid(f"The archive has schema {revision}.")
        if digest != _digest([names, *lines]):
            raise Invalid("The archive is damaged.")
        rows = [json.loads(line) for line in lines]
        self.rows = {name: [row for of, row in rows if of == name] for name in json.loads(names)}
        return self._copies(headway)

    def _copies(self, headway: Headway | None) -> tuple[TableCopy, ...]:
        tables = self.rows or {}
        if headway is not None:
            whole = sum(map(len, tables.values()))
            headway(whole, whole)
        return tuple(TableCopy(name, len(rows), _digest(rows)) for name, rows in tables.items())

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if self.failure is not None:
            raise self.failure


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
