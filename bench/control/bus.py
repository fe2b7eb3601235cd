"""The way of an event from its commit to a consumer of JetStream, beside a bare publish.

The database, the publisher and the consumer are those of a control plane, over a real NATS server
on loopback. The floor is the same message given to the same server by its client alone.
"""

import asyncio
import itertools
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from nats.aio.msg import Msg

from atoll.adapters.bus.envelope import envelope
from atoll.adapters.bus.jetstream import MAX_MESSAGE_BYTES, JetStreamSink
from atoll.adapters.bus.nats_bus import NatsBus
from atoll.adapters.bus.nats_link import NatsLink
from atoll.adapters.bus.settings import BusSettings
from atoll.adapters.clocks import SystemClock
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, SqlStore, open_store
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.outbox import Outbox
from atoll.testing.contracts.bus import event_at
from atoll.testing.samples import draft
from bench.figures import Series, table, verdict
from tests.peers.nats.server import connected, nats_server

ONE_BY_ONE = 300
WARM = 20
CROWD = 20_000
_numbers = itertools.count()


@dataclass(frozen=True)
class _Way:
    """A database, and its bus."""

    store: SqlStore
    bus: NatsBus
    link: NatsLink
    settings: BusSettings

    async def append(self, count: int) -> None:
        async with self.store.begin() as rows:
            await rows.events.append([draft(next(_numbers)) for _ in range(count)])
        self.bus.announce(("auth",))

    @asynccontextmanager
    async def publishing(self) -> AsyncIterator[None]:
        ground = Ground(self.store, self.bus, SystemClock(), Identifiers())
        sink = JetStreamSink(self.link, self.settings)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(Outbox(ground, sink).run())
            yield
            running.cancel()


def bus() -> None:
    """Commit → consumer, one event after the other, and events a second."""
    with nats_server() as server:
        asyncio.run(_latency(BusSettings(bus_url=server.url, bus_prefix="one")))
        asyncio.run(_throughput(BusSettings(bus_url=server.url, bus_prefix="many")))


@asynccontextmanager
async def _way(settings: BusSettings) -> AsyncIterator[_Way]:
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    try:
        async with (
            open_store(Settings(sqlite_url(folder / "a.db"))) as store,
            connected(settings) as (bus, link),
        ):
            yield _Way(store, bus, link, settings)
    finally:
        shutil.rmtree(folder)


@asynccontextmanager
async def _arrivals(way: _Way) -> AsyncIterator["asyncio.Queue[float]"]:
    """Yield the moments at which a consumer on a connection of its own receives messages."""
    came: asyncio.Queue[float] = asyncio.Queue()

    async def take(_message: Msg) -> None:
        came.put_nowait(time.perf_counter())

    await JetStreamSink(way.link, way.settings).tip()
    async with connected(BusSettings(bus_url=way.settings.bus_url, bus_prefix="reader")) as (
        _,
        own,
    ):
        stream = own.connection.client.jetstream()
        subjects = f"{way.settings.bus_prefix}.>"
        await stream.subscribe(subjects, cb=take, stream=way.settings.stream)
        yield came


async def _latency(settings: BusSettings) -> None:
    ours, floor = Series("commit → consumer"), Series("bare JetStream publish → consumer")
    sql = Series("  of which: the commit itself")
    async with _way(settings) as way, _arrivals(way) as came:
        stream = way.link.connection.client.jetstream()
        body = envelope(event_at(1), MAX_MESSAGE_BYTES)
        for _ in range(ONE_BY_ONE + WARM):
            began = time.perf_counter()
            await stream.publish(f"{settings.bus_prefix}.auth.login", body)
            floor.samples.append((await came.get() - began) * 1000)
        await stream.purge_stream(settings.stream)
        await stream.delete_stream(settings.stream)
    async with _way(settings) as way, _arrivals(way) as came, way.publishing():
        for _ in range(ONE_BY_ONE + WARM):
            began = time.perf_counter()
            await way.append(1)
            sql.samples.append((time.perf_counter() - began) * 1000)
            ours.samples.append((await came.get() - began) * 1000)
    for series in (ours, floor, sql):
        del series.samples[:WARM]
    table("one event at a time", floor, ours, sql)
    verdict("ms over the floor and the commit", ours.median - floor.median - sql.median, 5)


async def _throughput(settings: BusSettings) -> None:
    ours, floor = Series("the outbox", "k/s"), Series("bare publishes, 200 at a time", "k/s")
    async with _way(settings) as way:
        await way.append(CROWD)
        async with _arrivals(way) as came:
            stream = way.link.connection.client.jetstream()
            body = envelope(event_at(1), MAX_MESSAGE_BYTES)
            began = time.perf_counter()
            for _ in range(0, CROWD, 200):
                acks = [
                    await stream.publish_async(f"{settings.bus_prefix}.auth.login", body)
                    for _ in range(200)
                ]
                await asyncio.gather(*acks)
            floor.samples.append(CROWD / (await _last(came) - began) / 1000)
            await stream.delete_stream(settings.stream)
        async with _arrivals(way) as came:
            began = time.perf_counter()
            async with way.publishing():
                ours.samples.append(CROWD / (await _last(came) - began) / 1000)
    table(f"{CROWD:,} events at a consumer", floor, ours)
    verdict("part of the bare rate", ours.median / floor.median, 0.5, at_least=True)


async def _last(came: "asyncio.Queue[float]") -> float:
    """Return when the last of the crowd came."""
    at = 0.0
    for _ in range(CROWD):
        at = await came.get()
    return at
