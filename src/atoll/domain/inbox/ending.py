"""The inbox's item of a sandbox whose time is nearly over. Pure.

Its lines name the work in it that nobody has outside. They may change while the item is shown, for
agents work on: `shown` stands for the end alone, and no answer can lose more than waiting would.
"""

import hashlib
from datetime import UTC, datetime

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.duration import spell_duration
from atoll.domain.inbox.item import InboxItem
from atoll.domain.sandboxes.lifetime import end_of, extension_of, warning_at
from atoll.domain.sandboxes.sandbox import KEPT, Sandbox
from atoll.wire.contract.agents import StatusOption
from atoll.wire.words.agents import AnswerBy, ItemKind

EXTEND, LET_END = "extend", "let_end"
PREFIX = "end_"
MAX_LINES = 20


def item_of_end(sandbox: Sandbox, work: tuple[str, ...]) -> InboxItem:
    """Return the item of a sandbox that ends soon; `work` names what is only in it, in lines that
    may come from inside."""
    more = extension_of(sandbox)
    extend = (StatusOption(EXTEND, f"Extend by {spell_duration(more)}", "allow"),) if more else ()
    left = len(work) - MAX_LINES
    return InboxItem(
        id=end_item_id(sandbox),
        kind=ItemKind.END,
        sandbox_id=sandbox.id,
        sandbox_name=sandbox.name,
        since=_instant(warning_at(sandbox)),
        lines=(
            _sentence(sandbox),
            *(spelled_out(line) for line in work[:MAX_LINES]),
            *((f"… and {left} more lines",) if left > 0 else ()),
        ),
        options=(*extend, StatusOption(LET_END, "Let it end", "deny")),
        by=AnswerBy.PERSON,
        shown=_digest(sandbox),
    )


def end_item_id(sandbox: Sandbox) -> str:
    """Return the id of the item for a sandbox's present end."""
    return PREFIX + _digest(sandbox)[:16]


def _sentence(sandbox: Sandbox) -> str:
    at = f"{_end(sandbox).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if sandbox.state in KEPT:
        return f"its files, and what is only in them, are removed for good at {at}"
    kept = spell_duration(sandbox.profile.ttl.retention_seconds)
    return f"its time is over at {at}; its files are kept for {kept} more"


def _end(sandbox: Sandbox) -> datetime:
    return end_of(sandbox) or sandbox.expires_at


def _digest(sandbox: Sandbox) -> str:
    return hashlib.sha256(f"{sandbox.id} {_instant(_end(sandbox))}".encode()).hexdigest()


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
