"""The page about the bus: its consumer runs as it stands there, with the permissions it shows."""

import asyncio
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import fields
from pathlib import Path

import nats
import pytest

from atoll.adapters.bus import jetstream
from atoll.adapters.bus.settings import BusSettings
from atoll.domain import live
from atoll.testing.contracts.bus import event_at
from tests.peers.nats.server import NatsServer, connected, nats_server, until
from tests.places import ROOT

PAGE = (ROOT / "docs" / "program" / "bus.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NatsServer]:
    """A server with the configuration of the page, on another port and folder."""
    monkeypatch.setenv("ATOLL_PASSWORD", "a-secret")
    monkeypatch.setenv("READER_PASSWORD", "r-secret")
    shown = block("text")
    assert "jetstream {" in shown
    text = re.sub(r'store_dir: "[^"]+"', f'store_dir: "{folder}"', shown)
    (folder / "nats.conf").write_text(text)
    with nats_server("--config", str(folder / "nats.conf")) as one:
        yield one


def kept(path: Path) -> list[str]:
    try:
        with closing(sqlite3.connect(path)) as database:
            return [row[0] for row in database.execute("SELECT id FROM events ORDER BY rowid")]
    except sqlite3.OperationalError:
        return []


def url(server: NatsServer, user: str) -> str:
    return server.url.replace("//", f"//{user}:{user[0]}-secret@")


@asynccontextmanager
async def consumer(folder: Path, server: NatsServer) -> AsyncIterator[None]:
    """Run the consumer of the page; killed on leaving."""
    (folder / "consumer.py").write_text(block("python"))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "consumer.py", cwd=folder, env={"NATS_URL": url(server, "reader")}
    )
    try:
        yield
    finally:
        child.kill()
        await child.wait()


async def test_consumer_of_the_page_keeps_every_event_once_over_a_kill(
    folder: Path, server: NatsServer
) -> None:
    settings = BusSettings(bus_url=url(server, "atoll"))
    database = folder / "events.db"
    async with connected(settings) as (_bus, link):
        sink = jetstream.JetStreamSink(link, settings)
        await sink.tip()
        await sink.append([event_at(number) for number in range(1, 6)], after=0)
        async with consumer(folder, server):
            await until(lambda: len(kept(database)) == 5)
        await sink.append([event_at(number) for number in range(6, 9)], after=5)
        async with consumer(folder, server):
            await until(lambda: len(kept(database)) == 8)
        assert kept(database) == [f"ev_{number}" for number in range(1, 9)]


async def test_reader_of_the_page_may_neither_publish_nor_listen_to_replicas(
    server: NatsServer,
) -> None:
    settings = BusSettings(bus_url=url(server, "atoll"))
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error).lower())

    async with connected(settings) as (bus, link):
        sink = jetstream.JetStreamSink(link, settings)
        await sink.tip()
        client = await nats.connect(url(server, "reader"), error_cb=note)
        try:
            for subject in ("atoll.sandbox.ready", "atoll-bus.announce"):
                await client.publish(subject, b"{}")
                await client.subscribe(subject)
            for call in ("STREAM.DELETE", "STREAM.PURGE", "STREAM.MSG.GET"):
                await client.publish(f"$JS.API.{call}.ATOLL_EVENTS", b"")
            await client.subscribe("_INBOX.>")
            await client.flush()
            await until(lambda: len(refused) == 8)
        finally:
            await client.close()
        assert all("permissions violation" in text for text in refused)
        assert (await sink.tip()).sequence == 0 and bus.trouble is None


def test_page_names_every_setting_with_its_default() -> None:
    plain = BusSettings()
    for one in fields(BusSettings):
        assert f"`{one.name}`" in PAGE
    for name in ("bus_days", "bus_mb", "bus_window_seconds", "bus_copies"):
        assert re.search(rf"`{name}`.*\|[^|]*\b{getattr(plain, name)}\b", PAGE), name


def test_page_gives_the_bounds_as_they_are() -> None:
    bounds = PAGE.partition("| bound of live channels")[2]
    assert f"| a message | {live.MAX_PAYLOAD_BYTES // 1024} KiB |" in bounds
    assert (
        f"{live.BYTES_PER_SECOND // 2**20} MiB a second after {live.BURST_BYTES // 2**20} MiB"
        in bounds
    )
    assert (
        f"counts {live.MESSAGE_BYTES} bytes more; {live.MAX_SUBSCRIPTIONS} subscriptions" in bounds
    )
    assert f"{live.MAX_QUEUED} messages, {live.MAX_QUEUED_BYTES // 2**20} MiB" in bounds
    assert f"larger than {jetstream.MAX_MESSAGE_BYTES // 1024} KiB is left out" in PAGE
