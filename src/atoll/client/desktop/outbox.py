"""The outbox of one lease: items in order, numbered from 1, until the control plane has taken them.

Nothing here waits for a network. The spool of the runtime holds what does not fit.
"""

import asyncio
import json
from collections import deque
from dataclasses import dataclass
from typing import Final

from atoll.client.desktop.calls import Item
from atoll.domain.errors import Failed

MAX_ITEMS: Final = 200
MAX_BYTES: Final = 4 * 1024 * 1024
"""Of one delivery, unless a single item is larger."""
MOST_WAITING: Final = 400


@dataclass(frozen=True, slots=True)
class _QueuedItem:
    """An item; `spooled` is its number in the spool, 0 for one of the host itself."""

    item: Item
    size: int
    spooled: int


class OutOfStep(Failed):
    """The server has lost what it had taken, or somebody else delivers by the same lease: what this
    host says can no longer be delivered once and in order."""


class Outbox:
    """Items that wait. `spooled` is the last entry of the spool that was taken."""

    def __init__(self) -> None:
        self._items: deque[_QueuedItem] = deque()
        self._first = 1
        self._bell = asyncio.Event()
        self.spooled = 0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Item, *, spooled: int = 0) -> int:
        """Add an item at the end; returns its number."""
        self._items.append(_QueuedItem(item, _size(item), spooled))
        self._ring()
        return self._first + len(self._items) - 1

    async def wait_for_room(self) -> None:
        """Wait until few items wait."""
        while len(self._items) >= MOST_WAITING:
            await self._bell.wait()

    async def wait_for_items(self, seconds: float) -> None:
        """Wait until something waits, or for some seconds."""
        if not self._items:
            try:
                async with asyncio.timeout(seconds):
                    await self._bell.wait()
            except TimeoutError:
                return

    def batch(self) -> tuple[int, list[Item]]:
        """Return the number of the first item, and the items to deliver next."""
        batch: list[Item] = []
        size = 0
        for entry in self._items:
            if batch and (len(batch) >= MAX_ITEMS or size + entry.size > MAX_BYTES):
                break
            batch.append(entry.item)
            size += entry.size
        return self._first, batch

    def replace(self, item: Item) -> None:
        """Put another item in the place of the first one, which is not taken as it is."""
        first = self._items.popleft()
        self._items.appendleft(_QueuedItem(item, _size(item), first.spooled))

    def settle(self, expected: int, *, sent: int | None = None) -> None:
        """Forget items below the number that is expected next. Raises `OutOfStep` where that lies
        before the first one, or after the `sent` ones of the last delivery."""
        if expected < self._first:
            raise OutOfStep(f"item {expected} was taken once, and is expected again")
        if sent is not None and expected > self._first + sent:
            raise OutOfStep(f"item {expected} is expected, and was never sent from here")
        while self._items and self._first < expected:
            taken = self._items.popleft()
            self._first += 1
            self.spooled = max(self.spooled, taken.spooled)
        self._first = max(self._first, expected)
        self._ring()

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()


def _size(item: Item) -> int:
    return len(json.dumps(item))
