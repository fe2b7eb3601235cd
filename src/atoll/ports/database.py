"""The Database port: the database of one home, looked at and moved as a whole.

Rows are used through `ports.store`; this port is for the person who keeps the database.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import BinaryIO, Protocol

Headway = Callable[[int, int], None]
"""Receives how many rows are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table: its rows, and its bytes with its indexes, None where the database does not say."""

    name: str
    rows: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class ProjectionLag:
    """A projection: the position in the log up to which it is derived, and how many positions the
    log has after that."""

    name: str
    position: int
    lag: int


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """A database: its `backend` (`sqlite`, `postgresql`) and `place`, which holds no password.

    `revision` is the schema's, None for a database without tables; `newest` is the one that this
    program knows. `bytes` are those of the whole database. `projections` are those that were ever
    derived.
    """

    backend: str
    place: str
    revision: str | None
    newest: str
    bytes: int
    tables: tuple[TableSize, ...]
    projections: tuple[ProjectionLag, ...] = ()


@dataclass(frozen=True, slots=True)
class Migrated:
    """A migration: the schema's revision before, None for an empty database, and after."""

    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class TableCopy:
    """The rows of a table as they were copied. `digest` (hexadecimal) is the sum of the rows'
    SHA-256, so it is the same in whatever order a database gives them."""

    name: str
    rows: int
    digest: str


class Database(Protocol):
    """A database at rest. Raises `Unavailable` when it cannot be opened, or was made by a newer
    program, and `Conflict` while a control plane uses it, which `status` allows."""

    def status(self) -> DatabaseStatus:
        """Look at the database without changing or making it."""
        ...

    def migrate(self) -> Migrated:
        """Bring the schema up to date, or make it in an empty database. Idempotent."""
        ...

    def rebuild(
        self, names: Collection[str] = (), headway: Headway | None = None
    ) -> tuple[ProjectionLag, ...]:
        """Derive these projections, or all, anew from the log, each stored in one transaction; also
        beside a control plane. `headway` receives positions. Raises `NotFound` for a name of none,
        and `Conflict` for a schema that is not up to date."""
        ...

    def export(self, to: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """Write all rows to `to` as one archive, of one moment, in bounded memory. Raises
        `Conflict` for a schema that is not up to date."""
        ...

    def load(self, source: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """Read an archive into the database, which must be empty, and compare the rows that are
        there afterwards; all of it or nothing. Numbers that the database gives (`position`)
        continue after the archive's last. Raises `Invalid` for a damaged archive, or one of
        another revision, and `Conflict` for a database with rows."""
        ...
