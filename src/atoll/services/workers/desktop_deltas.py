"""Pieces of text from agents on desktops, to the replica of whoever follows: live, never stored.

A desktop delivers them while it is asked to. Followers that are too slow, or whose replica is cut
off, miss some; the completed items, which are events, replace them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from atoll.domain.errors import AtollError
from atoll.domain.live import MAX_PAYLOAD_BYTES
from atoll.domain.workers.dialled import FOLLOW_SECONDS, HostLease
from atoll.domain.workers.record import WorkerRecord
from atoll.ports.bus import LiveChannels, LiveSubscription, Missed
from atoll.ports.outside.worker_host import HostDeltas
from atoll.wire.http.unreadable import UNREADABLE

AGAIN_SECONDS: Final = FOLLOW_SECONDS / 3
"""Between two requests to go on."""
_ROOM: Final = MAX_PAYLOAD_BYTES - 1024

Ask = Callable[[WorkerRecord], Awaitable[None]]


class _Message(msgspec.Struct, array_like=True):
    """A message of a live channel: pieces after entry `after`."""

    after: int
    lines: list[str]


class DesktopDeltas:
    """Pieces of text by worker and epoch, over live channels. Without these nothing is heard."""

    def __init__(self, channels: LiveChannels | None) -> None:
        self._channels = channels

    def publish(self, lease: HostLease, deltas: Sequence[HostDeltas]) -> None:
        """Show pieces of a host to who follows. What is too long or too much is lost."""
        if self._channels is None:
            return
        # An organization that publishes too much loses pieces, and nothing else.
        with suppress(AtollError):
            for delta in deltas:
                for payload in _payloads(delta):
                    self._channels.publish(lease.org_id, _channel(lease.key, lease.epoch), payload)

    @asynccontextmanager
    async def follow(
        self, worker: WorkerRecord, ask: Ask
    ) -> AsyncIterator[AsyncIterator[HostDeltas]]:
        """Yield the pieces of a worker in its epoch from now on, asking its host for them again and
        again. Raises what `ask` raises, and `LimitReached`."""
        if self._channels is None:
            yield _nothing()
            return
        name = _channel(worker.key, worker.worker.epoch)
        with self._channels.subscribe(worker.org_id, name) as subscription:
            await ask(worker)
            yield _receive_deltas(subscription, worker, ask)


async def _receive_deltas(
    subscription: LiveSubscription, worker: WorkerRecord, ask: Ask
) -> AsyncIterator[HostDeltas]:
    """Yield the deltas of a worker, and request them again at intervals. Never returns."""
    loop = asyncio.get_running_loop()
    due = loop.time() + AGAIN_SECONDS
    while True:
        if loop.time() >= due:
            await ask(worker)
            due = loop.time() + AGAIN_SECONDS
        message: bytes | Missed | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                message = await subscription.receive()
        deltas = _read(message)
        if deltas is not None:
            yield deltas


async def _nothing() -> AsyncIterator[HostDeltas]:
    """Yield no piece."""
    return
    yield


def _channel(key: str, epoch: int) -> str:
    return f"worker-deltas:{key}:{epoch}"


def _payloads(deltas: HostDeltas) -> Iterator[bytes]:
    """Yield messages with the pieces, each within the bound of a channel."""
    lines: list[str] = []
    size = 0
    for line in deltas.lines:
        # Quoted, a line grows.
        cost = len(msgspec.json.encode(line.decode())) + 1
        if cost > _ROOM:
            continue
        if size + cost > _ROOM:
            yield msgspec.json.encode(_Message(deltas.after, lines))
            lines, size = [], 0
        lines.append(line.decode())
        size += cost
    if lines:
        yield msgspec.json.encode(_Message(deltas.after, lines))


def _read(message: bytes | Missed | None) -> HostDeltas | None:
    if not isinstance(message, bytes):
        return None
    try:
        batch = msgspec.json.decode(message, type=_Message)
    except UNREADABLE:
        return None
    return HostDeltas(batch.after, tuple(line.encode() for line in batch.lines))
