"""Announcements and live messages between replicas, over plain NATS subjects.

Within this process both are delivered at once, as the bus of one process does it. What goes to
other replicas is sent by one task, in order. Nothing is kept for a replica that is away: after each
new connection every listener looks again.
"""

import hashlib
from asyncio import Event as Flag
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, TypeAlias

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.bus.live_channels import InProcessChannels, Key
from atoll.adapters.bus.nats_link import Connection, NatsLink
from atoll.domain.ids import OrgId
from atoll.ports import Listener
from atoll.ports.bus import LiveSubscription

MAX_NAMES: Final = 500
MAX_NAME_CHARACTERS: Final = 512
"""Names in one announcement. Where there are more, or longer ones, all streams are announced."""

MAX_WAITING: Final = 10_000
MAX_WAITING_BYTES: Final = 16 * 1024 * 1024
"""Live messages that wait to be sent; what comes beyond is dropped."""

_EVERYTHING: Final = b"null"
_names: Final = msgspec.json.Decoder(list[str] | None)

_Order: TypeAlias = tuple[Key, bytes | None]
"""A live message to send, or with None: see whether the channel needs a subscription."""


class NatsBus:
    """The `ports.bus.Bus` and `ports.bus.LiveChannels` of one replica. `run` connects it; without
    a connection it serves its own process."""

    def __init__(self, link: NatsLink, prefix: str) -> None:
        self._link = link
        # Apart from the subjects of events: who may read those need not read these.
        self._announced = f"{prefix}-bus.announce"
        self._live = f"{prefix}-bus.live."
        self._local = InProcessBus()
        self._channels = InProcessChannels()
        self._subscribed: dict[Key, Subscription] = {}
        self._keys: dict[str, Key] = {}
        self._streams: set[str] | None = set()
        self._orders: deque[_Order] = deque()
        self._waiting_bytes = 0
        self._connected = False
        self._due = Flag()

    @property
    def trouble(self) -> str | None:
        """Return why other replicas are not reached, None while they are."""
        return self._link.trouble

    async def run(self) -> None:
        """Stay connected; never returns."""
        await self._link.run(self._session)

    def announce(self, streams: Iterable[str]) -> None:
        """See the port."""
        told = tuple(streams)
        self._local.announce(told)
        if self._connected and self._streams is not None:
            self._streams.update(told)
            if len(self._streams) > MAX_NAMES or any(len(n) > MAX_NAME_CHARACTERS for n in told):
                self._streams = None
            self._due.set()

    def wake(self, streams: Iterable[str] | None) -> None:
        """Wake the listeners of these streams in this process, or all of them."""
        if streams is None:
            self._local.announce_all()
        else:
            self._local.announce(streams)

    def listen(self, stream: str | None = None) -> AbstractContextManager[Listener]:
        """See the port."""
        return self._local.listen(stream)

    def publish(self, org_id: OrgId, channel: str, payload: bytes) -> None:
        """See the port."""
        self._channels.publish(org_id, channel, payload)
        full = len(self._orders) >= MAX_WAITING or self._waiting_bytes >= MAX_WAITING_BYTES
        if self._connected and not full:
            self._waiting_bytes += len(payload)
            self._order((org_id, channel), payload)

    @contextmanager
    def subscribe(self, org_id: OrgId, channel: str) -> Iterator[LiveSubscription]:
        """See the port."""
        key = (org_id, channel)
        try:
            with self._channels.subscribe(org_id, channel) as subscription:
                self._order(key, None)
                yield subscription
        finally:
            self._order(key, None)

    def _order(self, key: Key, payload: bytes | None) -> None:
        if self._connected:
            self._orders.append((key, payload))
            self._due.set()

    async def _session(self, connection: Connection) -> None:
        """Serve one connection until it is lost."""
        client = connection.client
        self._subscribed, self._keys = {}, {}
        await client.subscribe(self._announced, cb=self._hear)
        self._orders = deque((key, None) for key in self._channels.keys)
        self._waiting_bytes = 0
        self._connected, self._streams = True, None
        # Either side may have announced what the other one did not receive.
        self._local.announce_all()
        self._due.set()
        try:
            while True:
                await self._due.wait()
                self._due.clear()
                await self._send(client)
        finally:
            self._connected = False

    async def _send(self, client: Client) -> None:
        streams, self._streams = self._streams, set()
        if streams is None or streams:
            await client.publish(self._announced, _encode_streams(streams))
        while self._orders:
            key, payload = self._orders.popleft()
            if payload is None:
                await self._follow(client, key)
            else:
                self._waiting_bytes -= len(payload)
                await client.publish(self._subject(key), payload)

    async def _follow(self, client: Client, key: Key) -> None:
        """Subscribe to a channel that has subscribers here, and to no other."""
        wanted, subject = key in self._channels.keys, self._subject(key)
        if wanted and key not in self._subscribed:
            self._keys[subject] = key
            self._subscribed[key] = await client.subscribe(subject, cb=self._receive)
        elif not wanted and key in self._subscribed:
            del self._keys[subject]
            await self._subscribed.pop(key).unsubscribe()

    def _subject(self, key: Key) -> str:
        org_id, channel = key
        text = f"{len(org_id)}:{org_id}{channel}".encode("utf-8", "surrogatepass")
        return self._live + hashlib.sha256(text).hexdigest()

    async def _hear(self, message: Msg) -> None:
        try:
            self.wake(_names.decode(message.data))
        except msgspec.DecodeError:
            # From a newer replica, or not from one: to look again is never wrong.
            self.wake(None)

    async def _receive(self, message: Msg) -> None:
        key = self._keys.get(message.subject)
        if key is not None:
            self._channels.deliver(key, message.data)


def _encode_streams(streams: set[str] | None) -> bytes:
    try:
        return _EVERYTHING if streams is None else msgspec.json.encode(sorted(streams))
    except UnicodeEncodeError:
        return _EVERYTHING  # a name that is no text: JSON cannot spell it
