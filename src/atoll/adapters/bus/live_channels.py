"""Live channels within one process: a bounded queue for each subscriber, and nothing else."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from atoll.domain.errors import LimitReached
from atoll.domain.ids import OrgId
from atoll.domain.live import (
    MAX_QUEUED,
    MAX_QUEUED_BYTES,
    MAX_SUBSCRIPTIONS,
    PublishRate,
    check_channel,
    check_message,
)
from atoll.ports.bus import LiveSubscription, Missed

Key: TypeAlias = tuple[OrgId, str]
"""An organization and the name of one of its channels."""

_MANY_RATES = 1024


class _Queue:
    """The messages that wait for one subscriber. When they are too many, all of them give way to
    a count."""

    __slots__ = ("_bytes", "_filled", "_messages", "_missed")

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._missed = 0
        self._filled = asyncio.Event()

    def put(self, payload: bytes) -> None:
        """Add a message. Never waits."""
        if len(self._messages) >= MAX_QUEUED or self._bytes + len(payload) > MAX_QUEUED_BYTES:
            self._missed += len(self._messages)
            self._messages.clear()
            self._bytes = 0
        self._messages.append(payload)
        self._bytes += len(payload)
        self._filled.set()

    async def receive(self) -> bytes | Missed:
        """See `ports.bus.LiveSubscription`."""
        while not (self._missed or self._messages):
            self._filled.clear()
            await self._filled.wait()
        if self._missed:
            missed, self._missed = Missed(self._missed), 0
            return missed
        payload = self._messages.popleft()
        self._bytes -= len(payload)
        return payload


class InProcessChannels:
    """The `ports.bus.LiveChannels` of a single control plane."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._queues: dict[Key, set[_Queue]] = {}
        self._subscriptions: Counter[OrgId] = Counter()
        self._rates: dict[OrgId, PublishRate] = {}

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the channels that have subscribers."""
        return tuple(self._queues)

    def publish(self, org_id: OrgId, channel: str, payload: bytes) -> None:
        """See the port."""
        check_message(channel, payload)
        now = self._steady()
        if org_id not in self._rates and len(self._rates) >= _MANY_RATES:
            self._forget_idle(now)
        self._rates.setdefault(org_id, PublishRate(now)).take(len(payload), now)
        self.deliver((org_id, channel), payload)

    def deliver(self, key: Key, payload: bytes) -> None:
        """Give a message to the subscribers of a channel, whoever published it."""
        for queue in self._queues.get(key, ()):
            queue.put(payload)

    @contextmanager
    def subscribe(self, org_id: OrgId, channel: str) -> Iterator[LiveSubscription]:
        """See the port."""
        check_channel(channel)
        if self._subscriptions[org_id] >= MAX_SUBSCRIPTIONS:
            raise LimitReached(f"this organization has {MAX_SUBSCRIPTIONS} live subscriptions")
        queue, key = _Queue(), (org_id, channel)
        self._queues.setdefault(key, set()).add(queue)
        self._subscriptions[org_id] += 1
        try:
            yield queue
        finally:
            self._subscriptions[org_id] -= 1
            if not self._subscriptions[org_id]:
                del self._subscriptions[org_id]
            self._queues[key].discard(queue)
            if not self._queues[key]:
                del self._queues[key]

    def _forget_idle(self, now: float) -> None:
        for rate in self._rates.values():
            rate.refill(now)
        self._rates = {org_id: rate for org_id, rate in self._rates.items() if not rate.full}
