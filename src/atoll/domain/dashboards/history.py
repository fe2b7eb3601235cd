"""The history of a dashboard's document: who changed how many items of which kind, by the minute.

Pure. Updates of one person within a minute are one entry. An entry keeps the updates themselves;
some keep the whole document, so that the way to any moment is short.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.dashboards.item import Fields
from atoll.domain.ids import DashboardId, PrincipalId

MAX_ENTRIES: Final = 1000
"""The entries that are kept of one document; the oldest go first."""

MAX_HISTORY_BYTES: Final = 32 * 1024 * 1024
CHECKPOINT_ENTRIES: Final = 25
"""The entries between two that keep the whole document."""

SPAN: Final = timedelta(minutes=1)
_OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class StoredUpdate:
    """An update as it is stored: `parts` are updates of one actor that were stored at once."""

    seq: int
    at: datetime
    actor: PrincipalId
    parts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An entry: the changes of one person within a minute, up to update `seq`. `added`, `changed`
    and `removed` count items by their kind."""

    dashboard_id: DashboardId
    seq: int
    at: datetime
    actor: PrincipalId
    added: Mapping[str, int]
    changed: Mapping[str, int]
    removed: Mapping[str, int]


def group_updates(updates: Iterable[StoredUpdate]) -> list[list[StoredUpdate]]:
    """Return updates in their order, those of one entry together."""
    groups: list[list[StoredUpdate]] = []
    for one in updates:
        last = groups[-1] if groups else None
        if last is not None and last[0].actor == one.actor and one.at - last[0].at < SPAN:
            last.append(one)
        else:
            groups.append([one])
    return groups


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of items by kind."""

    added: Mapping[str, int]
    changed: Mapping[str, int]
    removed: Mapping[str, int]


def count_changes(
    before: Mapping[str, Fields | None], after: Mapping[str, Fields | None]
) -> Counts:
    """Return the counts of what happened to items, given each as it was and as it is. None is an
    item that is not there."""
    added: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for item_id, was in before.items():
        now = after.get(item_id)
        if was is None and now is not None:
            added[_kind_of(now)] += 1
        elif was is not None and now is None:
            removed[_kind_of(was)] += 1
        elif was is not None and now is not None and was != now:
            changed[_kind_of(now)] += 1
    return Counts(dict(added), dict(changed), dict(removed))


def _kind_of(fields: Fields) -> str:
    kind = fields.get("kind")
    return kind if isinstance(kind, str) else _OTHER
