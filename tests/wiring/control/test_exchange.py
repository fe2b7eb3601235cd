"""Two control planes on one database: what one commits the readers of the other receive, whether
their bus is there or not."""

import asyncio
import builtins
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.bus.settings import BusSettings
from atoll.domain.errors import Failed
from atoll.domain.event import Event, Gap
from atoll.domain.ids import OrgId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.application import Application
from atoll.services.journals.events import Note
from atoll.surfaces.http.app import create_app
from atoll.wiring.control.assembly import assemble
from atoll.wiring.control.exchange import open_exchange
from atoll.wiring.control.settings import ControlSettings, read_settings
from tests.peers.nats.server import NatsServer, nats_server, until


@pytest.fixture
def server() -> Iterator[NatsServer]:
    with nats_server() as one:
        yield one


@pytest.fixture
def home() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def settings(home: Path, url: str | None) -> ControlSettings:
    flags = {"bus_url": url, "database_url": f"sqlite+aiosqlite:///{home.parent / home.name}/a.db"}
    return read_settings(home, {}, flags)


@asynccontextmanager
async def replica(home: Path, url: str | None) -> AsyncIterator[Application]:
    """Run the services of one control plane that concern the bus."""
    async with assemble(settings(home, url)) as application, asyncio.TaskGroup() as tasks:
        replication = application.replication
        running = [tasks.create_task(act()) for act in (replication.run, replication.outbox.run)]
        try:
            yield application
        finally:
            for one in running:
                one.cancel()


async def login(one: Application, how: str) -> Event:
    return await one.events.record(LOCAL_PERSON, Note("auth", "auth.login", {"how": how}))


async def read(one: Application, count: int, seconds: float = 20) -> list[str]:
    """Return the next events that a follower of this replica receives."""
    events = one.events.follow(LOCAL_PERSON)
    assert isinstance(events, AsyncGenerator)
    found: list[Event | Gap] = []
    async with asyncio.timeout(seconds), aclosing(events):
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return [str(event.payload["how"]) for event in found if isinstance(event, Event)]


async def _ready() -> str | None:
    return None


async def health(one: Application) -> dict[str, Any]:
    transport = httpx.ASGITransport(create_app(replace(one, readiness=_ready)))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_reader_of_one_replica_receives_what_another_commits(
    home: Path, server: NatsServer
) -> None:
    async with replica(home, server.url) as one, replica(home, server.url) as two:
        await until(lambda: not one.replication.troubles and not two.replication.troubles)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(read(two, 2, seconds=4))
            await asyncio.sleep(0.1)  # it follows by now; events before would not reach it
            await login(one, "first")
            await login(one, "second")
        assert reading.result() == ["first", "second"]


async def test_reader_without_the_bus_loses_a_second_and_no_event(
    home: Path, server: NatsServer
) -> None:
    async with replica(home, server.url) as one, replica(home, server.url) as two:
        await until(lambda: not one.replication.troubles and not two.replication.troubles)
        server.kill()
        await until(lambda: bool(one.replication.troubles and two.replication.troubles))
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(read(two, 2, seconds=8))
            await asyncio.sleep(0.1)  # it follows by now; events before would not reach it
            await login(one, "first")
            await asyncio.sleep(1.2)  # the second event comes with another look at the log
            await login(one, "second")
        assert reading.result() == ["first", "second"]


async def test_control_plane_starts_without_the_bus_and_says_so_until_it_is_there(
    home: Path, server: NatsServer
) -> None:
    server.stop()
    async with replica(home, server.url) as one:
        await login(one, "first")
        await until(lambda: len(one.replication.troubles) == 2)
        told = await health(one)
        assert told["status"] == "ok"
        assert [text.partition(":")[0] for text in told["degraded"]] == ["bus", "outbox"]
        assert "127.0.0.1" not in json.dumps(told), "anybody may ask: no addresses"
        server.start()
        await until(lambda: not one.replication.troubles)
        assert await health(one) == {"status": "ok"}


async def test_live_messages_pass_between_replicas(home: Path, server: NatsServer) -> None:
    async with replica(home, server.url) as one, replica(home, server.url) as two:
        await until(lambda: not one.replication.troubles and not two.replication.troubles)
        org = OrgId("personal")
        with two.replication.live.subscribe(org, "presence") as there:
            async with asyncio.timeout(10):
                receiving = asyncio.Event()

                async def hello() -> None:
                    while not receiving.is_set():
                        one.replication.live.publish(org, "presence", b"hello")
                        await asyncio.sleep(0.05)

                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(hello())
                    assert await there.receive() == b"hello"
                    receiving.set()


async def test_single_process_runs_nothing_and_loads_no_client(home: Path) -> None:
    async with AsyncExitStack() as stack:
        exchange = await open_exchange(BusSettings(), stack)
        assert isinstance(exchange.bus, InProcessBus)
        assert (exchange.sink, exchange.wake, exchange.unheard()) == (None, None, None)
    async with assemble(settings(home, None)) as one, asyncio.timeout(5):
        await one.replication.run()
        assert not one.replication.troubles


async def test_missing_library_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "nats":
            raise ImportError(name)
        return plain(name, *rest, **more)

    for name in [one for one in sys.modules if one.startswith(("nats", "atoll.adapters.bus."))]:
        if "nats" in name or "jetstream" in name:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    async with AsyncExitStack() as stack:
        with pytest.raises(Failed, match=r"pip install 'atoll\[nats\]'"):
            await open_exchange(BusSettings(bus_url="nats://127.0.0.1"), stack)
