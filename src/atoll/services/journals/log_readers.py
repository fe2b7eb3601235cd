"""Readers that the pruning of the log waits for: the outbox, and webhooks that are enabled.

A reader that is gone holds nothing back: the outbox of the bus that is configured counts, and a
webhook only where an event waits that it wants.
"""

from dataclasses import dataclass

from atoll.ports import Transaction
from atoll.services.webhooks.log import first_unread


@dataclass(frozen=True, slots=True)
class UnreadLog:
    """The `readers` that have not read everything, and the last position that all of them have."""

    readers: tuple[str, ...]
    position: int


async def unread(rows: Transaction, published_as: str) -> UnreadLog | None:
    """Return what is not read yet; None when every reader has read everything. `published_as` is
    the stream of the bus, empty for none."""
    positions = {**await _outbox(rows, published_as), **await _webhooks(rows)}
    if not positions:
        return None
    return UnreadLog(tuple(sorted(positions)), min(positions.values()))


async def _outbox(rows: Transaction, stream: str) -> dict[str, int]:
    cursor = await rows.outbox.cursor(stream) if stream else None
    if cursor is None or cursor.position >= await rows.events.last_position():
        return {}
    return {f"outbox:{stream}": cursor.position}


async def _webhooks(rows: Transaction) -> dict[str, int]:
    positions = {}
    for record in await rows.webhooks.everything():
        if record.webhook.enabled:
            position = await first_unread(rows, record.webhook)
            if position is not None:
                positions[record.webhook.stream] = position - 1
    return positions
