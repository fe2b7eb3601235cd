"""The log reaches a consumer of a real JetStream whole, in order and once, whatever is killed."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import nats
import pytest

from atoll.adapters.bus.jetstream import JetStreamSink
from atoll.adapters.bus.settings import BusSettings
from atoll.adapters.clocks import SystemClock
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, SqlStore, open_store
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals import outbox as outboxes
from atoll.services.journals.outbox import Outbox
from atoll.testing.samples import draft
from atoll.testing.warm_process import WarmProcess
from tests.bounds import matrix
from tests.peers.nats.consumer import STREAM, Consumer, consumer, messages
from tests.peers.nats.publisher import start_publisher
from tests.peers.nats.server import NatsServer, connected, nats_server, until, wire

BARE = """\
id: profile.bare
version: "1.0.0"
extension: ext.in-memory
isolation: {level: none}
ttl: {default: 1h, max: 4h, retention: 1d}
"""


@pytest.fixture
def server() -> Iterator[NatsServer]:
    with nats_server() as one:
        yield one


@dataclass
class Log:
    """A database with a log, and the processes that publish it."""

    path: Path
    store: SqlStore
    appended: list[str] = field(default_factory=list)
    tried: int = 0

    async def append(self, count: int = 1) -> None:
        """Append events, three in a transaction; every seventh transaction fails."""
        for _ in range(0, count, 3):
            numbers = range(self.tried, self.tried + 3)
            self.tried += 3
            drafts = [draft(each, stream=f"s{each % 5}") for each in numbers]
            with suppress(ZeroDivisionError):
                async with self.store.begin() as rows:
                    await rows.events.append(drafts)
                    if numbers.start % 21 == 18:
                        raise ZeroDivisionError
                self.appended += [each.id for each in drafts]


@asynccontextmanager
async def log() -> AsyncIterator[Log]:
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    try:
        async with open_store(Settings(sqlite_url(folder / "a.db"))) as store:
            yield Log(folder / "a.db", store)
    finally:
        shutil.rmtree(folder)


@asynccontextmanager
async def publisher(log: Log, url: str, *, die_after: int = 0) -> AsyncIterator[WarmProcess]:
    """Run a process that publishes; killed on leaving."""
    process = start_publisher(log.path, url, die_after=die_after)
    try:
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


async def whole(log: Log, one: Consumer, url: str) -> None:
    """Check that the consumer gets everything, in order but for what was lost on the way to it and
    delivered again; the stream holds each event once."""
    await until(lambda: len(one.seen) >= len(log.appended), seconds=60)
    assert sorted(one.seen) == sorted(log.appended)
    at_once = [each for each in one.seen if each not in one.again]
    assert at_once == [each for each in log.appended if each not in one.again]
    assert await messages(url) == log.appended


async def test_publisher_killed_between_publishing_and_saving_doubles_and_loses_nothing(
    server: NatsServer,
) -> None:
    async with log() as written, consumer(server.url) as one:
        await written.append(300)
        async with publisher(written, server.url, die_after=100) as first:
            assert await asyncio.to_thread(first.wait) == -signal.SIGKILL
        # Longer than the stream recognises a repeated message id.
        await asyncio.sleep(1.5)
        async with publisher(written, server.url, die_after=1) as second:
            await written.append(30)
            assert await asyncio.to_thread(second.wait) == -signal.SIGKILL
        async with AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(publisher(written, server.url))
            await written.append(90)
            await whole(written, one, server.url)


@pytest.mark.parametrize("how", matrix(["stop", "kill"], "kill"))
async def test_server_restarted_in_the_middle_loses_and_doubles_nothing(
    server: NatsServer, how: str
) -> None:
    async with AsyncExitStack() as stack:
        written = await stack.enter_async_context(log())
        one = await stack.enter_async_context(consumer(server.url))
        for _ in range(2):
            await stack.enter_async_context(publisher(written, server.url))
        for _ in range(3):
            await written.append(60)
            before = len(one.seen)
            await until(lambda: len(one.seen) > before)  # noqa: B023 - called here
            await asyncio.to_thread(getattr(server, how))
            await written.append(60)
            await asyncio.sleep(0.3)  # publishers fail for a while
            await asyncio.to_thread(server.start)
        await whole(written, one, server.url)


async def test_cut_connection_loses_and_doubles_nothing(server: NatsServer) -> None:
    async with AsyncExitStack() as stack:
        written = await stack.enter_async_context(log())
        one = await stack.enter_async_context(consumer(server.url))
        way = await stack.enter_async_context(wire(server.port))
        await stack.enter_async_context(publisher(written, way.url))
        for _ in range(5):
            await written.append(60)
            before = len(one.seen)
            await until(lambda: len(one.seen) > before)  # noqa: B023 - called here
            await written.append(6)
            await way.cut()
            await written.append(60)
            await way.mend()
        await whole(written, one, server.url)


async def test_publisher_that_was_stopped_while_another_publishes_doubles_nothing(
    server: NatsServer,
) -> None:
    async with AsyncExitStack() as stack:
        written = await stack.enter_async_context(log())
        one = await stack.enter_async_context(consumer(server.url))
        await written.append(30)
        first = await stack.enter_async_context(publisher(written, server.url))
        await until(lambda: len(one.seen) == len(written.appended))
        await stack.enter_async_context(publisher(written, server.url))
        first.send_signal(signal.SIGSTOP)
        await written.append(30)
        await until(lambda: len(one.seen) == len(written.appended))
        first.send_signal(signal.SIGCONT)
        await written.append(90)
        await whole(written, one, server.url)


async def test_publishers_that_all_believe_that_they_lead_are_fenced_by_the_stream(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outboxes, "PAGE", 7)
    monkeypatch.setattr(outboxes, "MAX_PAUSE_SECONDS", 0.05)
    settings = BusSettings(bus_url=server.url, bus_window_seconds=1)
    async with AsyncExitStack() as stack:
        written = await stack.enter_async_context(log())
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        first, _link = await stack.enter_async_context(connected(settings))
        for _ in range(3):
            bus, link = await stack.enter_async_context(connected(settings))
            ground = Ground(written.store, bus, SystemClock(), Identifiers())
            outbox = Outbox(ground, JetStreamSink(link, settings))
            stack.callback(tasks.create_task(outbox.run()).cancel)
        one = await stack.enter_async_context(consumer(server.url))
        for _ in range(40):
            await written.append(30)
            first.announce(("s1",))
        await whole(written, one, server.url)


async def test_stream_that_is_removed_while_it_is_used_is_filled_again(
    server: NatsServer,
) -> None:
    async with AsyncExitStack() as stack:
        written = await stack.enter_async_context(log())
        await stack.enter_async_context(publisher(written, server.url))
        await written.append(60)
        async with consumer(server.url) as before:
            await until(lambda: len(before.seen) == len(written.appended))
        client = await nats.connect(server.url, allow_reconnect=False)
        await client.jetstream().delete_stream(STREAM)
        await client.close()
        await written.append(60)
        one = await stack.enter_async_context(consumer(server.url))
        await whole(written, one, server.url)


@asynccontextmanager
async def control(home: Path, url: str) -> AsyncIterator[httpx.AsyncClient]:
    """Run a control plane with the in-memory backend; killed on leaving."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "atoll.wiring.control.serve", "--home", str(home)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "ATOLL_EXTENSIONS": "in-memory", "ATOLL_BUS_URL": url},
    )
    assert child.stdout is not None
    try:
        await child.stdout.readline()
        note = json.loads((home / "run" / "control.json").read_text())
        token = (home / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=note["url"], headers=headers, timeout=30) as client:
            yield client
    finally:
        child.kill()
        await child.communicate()


async def test_control_plane_publishes_what_its_api_lists_over_a_sigkill(
    server: NatsServer,
) -> None:
    home = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    try:
        async with consumer(server.url) as one:
            for name in ("one", "two"):
                async with control(home, server.url) as client:
                    saved = await client.put("/v1/profiles/bare", content=BARE)
                    body = {"name": name, "profile": "bare"}
                    made = await client.post("/v1/sandboxes", json=body)
                    assert saved.status_code < 300 and made.status_code < 300, made.text
            async with control(home, server.url) as client:
                listed = (await client.get("/v1/events?limit=1000")).json()["events"]
                await until(lambda: len(one.seen) >= len(listed), seconds=60)
                assert (await client.get("/readyz")).json()["status"] == "ok"
            listed_ids = [event["id"] for event in listed]
            seen = one.seen[: len(listed_ids)]
            assert sorted(seen) == sorted(listed_ids)
            at_once = [each for each in listed_ids if each not in one.again]
            assert [each for each in seen if each not in one.again] == at_once
            assert {event["event_type"] for event in listed} >= {"sandbox.requested"}
            everything = await messages(server.url)
            assert everything[: len(listed)] == listed_ids
            assert len(set(everything)) == len(everything)
    finally:
        shutil.rmtree(home)
