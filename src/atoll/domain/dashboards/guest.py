"""The changes that a guest with an edit link may make to the items of a dashboard. Pure.

A guest writes notes and the like, and arranges everything. A pane opens what it names to whoever
sees the dashboard, and a task belongs to an agent: a guest makes, alters and removes neither.
"""

from typing import Final

from atoll.domain.dashboards.item import MAX_ITEMS, Fields
from atoll.domain.errors import Forbidden, LimitReached
from atoll.domain.ids import PrincipalId

GUEST_KINDS: Final = frozenset({"note", "text", "todo", "link", "frame"})
"""The kinds of items that a guest makes."""

GUEST_ITEMS: Final = MAX_ITEMS // 2
"""The items of a dashboard up to which a guest adds more: members find room."""

GUEST_TEXT_BYTES: Final = 16 * 1024
"""The most bytes of one update of a guest."""

_ARRANGES: Final = frozenset({"x", "y", "w", "h", "z", "frame", "group"})
_MEMBERS: Final = frozenset(
    {
        *("agent", "assignee", "by", "path", "port", "proposed_done", "sandbox_id", "task"),
        *("terminal_id", "view", "kind"),
    }
)
"""The fields that only members write: they name people, or what a pane opens."""


def check_guest_change(guest: PrincipalId, before: Fields | None, after: Fields | None) -> None:
    """Check one item that a guest added, changed or removed. Raises `Forbidden`."""
    if before is None:
        if after is not None:
            _check_new(guest, after)
        return
    if before.get("kind") not in GUEST_KINDS or before.get("task"):
        if after is None or _differs(before, after, _fixed_fields(before) | _fixed_fields(after)):
            raise Forbidden("a guest moves panes and tasks, and neither alters nor removes them")
    elif after is not None and _differs(before, after, _MEMBERS):
        raise Forbidden("a guest may not set this of an item")


def check_guest_room(items: int, *, adds: bool) -> None:
    """Check that a guest may add an item to so many. Raises `LimitReached`."""
    if adds and items > GUEST_ITEMS:
        raise LimitReached(
            f"guests add items to a dashboard with at most {GUEST_ITEMS}", code="too_many"
        )


def check_guest_size(size: int) -> None:
    """Check the size of a guest's update. Raises `LimitReached`."""
    if size > GUEST_TEXT_BYTES:
        raise LimitReached(
            f"a guest sends at most {GUEST_TEXT_BYTES} bytes at once", code="too_large"
        )


def _check_new(guest: PrincipalId, fields: Fields) -> None:
    if fields.get("kind") not in GUEST_KINDS:
        raise Forbidden("a guest makes notes, texts, todos, links and frames alone")
    if fields.get("by") not in (None, "", guest):
        raise Forbidden("an item is in the name of another person")
    if any(fields.get(name) for name in _MEMBERS - {"kind", "by"}):
        raise Forbidden("a guest may not set this of an item")


def _fixed_fields(fields: Fields) -> frozenset[str]:
    """Return the fields that no arranging and no connecting changes."""
    return frozenset(name for name in fields if not name.startswith("to:")) - _ARRANGES


def _differs(before: Fields, after: Fields, names: frozenset[str]) -> bool:
    return any(before.get(name) != after.get(name) for name in names)
