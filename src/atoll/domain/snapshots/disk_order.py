"""An order of a control plane to the one that leads, which has the disks of snapshots. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.domain.ids import SnapshotId

DiskOrderId = NewType("DiskOrderId", str)

_KINDS: dict[str, type[AtollError]] = {
    kind.__name__: kind
    for kind in (Invalid, Forbidden, NotFound, Conflict, LimitReached, Unavailable, Failed)
}


class DiskAct(StrEnum):
    """An act of the leader on a disk; `FIND` looks whether a sandbox could begin as it."""

    EXPORT = "export"
    IMPORT = "import"
    FIND = "find"


@dataclass(frozen=True, slots=True)
class DiskRefusal:
    """An error of the leader, as whoever asked raises it: the name of its class, and its parts."""

    kind: str
    message: str
    code: str
    field: str | None = None

    def error(self) -> AtollError:
        """Return the error."""
        kind = _KINDS.get(self.kind, Failed)
        return kind(self.message, code=self.code, field=self.field)


@dataclass(frozen=True, slots=True)
class DiskOrder:
    """An order, since `at`. It is `settled` once the leader is done; `refusal` says why it could
    not do so."""

    id: DiskOrderId
    snapshot_id: SnapshotId
    act: DiskAct
    at: datetime
    settled: bool = False
    refusal: DiskRefusal | None = None


def refusal_of(error: AtollError) -> DiskRefusal:
    """Return an error as an order holds it: by the nearest class that callers know."""
    names = (kind.__name__ for kind in type(error).__mro__)
    kind = next((name for name in names if name in _KINDS), Failed.__name__)
    return DiskRefusal(kind, error.message, error.code, error.field)
