"""How a database is connected: its URL, its driver, its server's certificate, and its bounds."""

import asyncio
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import literal, select, text
from sqlalchemy.sql.compiler import SQLCompiler

from atoll.adapters.storage.engines import postgres as module
from atoll.adapters.storage.engines.dialects import SqliteDialect
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, SqlStore, open_engines, open_store
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.ports import StoreUnavailable
from atoll.testing.samples import draft
from tests.adapters.storage.event_log import append
from tests.peers.certificate import own_certificate
from tests.peers.databases.postgres import USER, PostgresServer, missing, serving

CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'atoll'"


@asynccontextmanager
async def opened(server: PostgresServer, connections: int = 5) -> AsyncIterator[SqlStore]:
    name = server.current()
    try:
        async with open_store(Settings(server.url(name), connections)) as store:
            yield store
    finally:
        server.drop(name)


@pytest.mark.parametrize("url", ("mysql://me:hush@db/atoll", "hush", "postgresql+psycopg2:hush"))
def test_url_of_another_database_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(Invalid, match="postgresql://USER@HOST/NAME") as raised:
        open_engines(url, 2)
    assert "hush" not in raised.value.message


def test_missing_driver_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(Failed, match=r"pip install 'atoll\[postgres\]'"):
        open_engines("postgresql://me@db/atoll", 2)
    open_engines(sqlite_url(tmp_path / "a.db"), 2)


async def test_connections_are_bounded_and_a_wait_for_one_ends(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.2)
    async with opened(postgres, 3) as store:
        async with store.read(), store.read():
            with pytest.raises(Unavailable, match="database_connections"):
                async with store.read():
                    pass
        async with store.read() as rows:
            assert await rows.events.last_position() == 0


async def test_connection_that_the_server_closed_is_replaced_before_it_is_used(
    postgres: PostgresServer,
) -> None:
    async with opened(postgres) as store:
        await append(store, [draft(1)])
        async with store.read() as rows:
            assert await rows.events.last_position() == 1
        postgres.run(CUT)
        await asyncio.sleep(0.1)  # the server closes it in its own time, unannounced
        await append(store, [draft(2)])
        async with store.read() as rows:
            assert await rows.events.last_position() == 2


async def test_lost_connection_in_a_transaction_is_unavailable_and_leaves_nothing(
    postgres: PostgresServer,
) -> None:
    async with opened(postgres) as store:
        with pytest.raises(Unavailable):
            async with store.begin() as rows:
                await rows.events.append([draft(1)])
                postgres.run(CUT)
        await append(store, [draft(2)])
        async with store.read() as rows:
            assert await rows.events.last_position() == 1


async def _one_wrong_of_four(store: SqlStore) -> None:
    """Events that the database refuses fail alone, also among those that share a commit."""
    await append(store, [draft(1)])
    acts = (append(store, [draft(number)]) for number in (2, 1, 3))
    done = await asyncio.gather(*acts, return_exceptions=True)
    assert [type(one) for one in done] == [type(None), StoreUnavailable, type(None)]
    async with store.read() as rows:
        kept = [(event.position, event.id[-1]) for event in await rows.events.after(0, 10)]
    assert kept == [(1, "1"), (2, "2"), (3, "3")]


async def test_event_that_postgres_refuses_fails_alone(postgres: PostgresServer) -> None:
    async with opened(postgres) as store:
        await _one_wrong_of_four(store)


async def test_event_that_sqlite_refuses_fails_alone(tmp_path: Path) -> None:
    async with open_store(Settings(sqlite_url(tmp_path / "a.db"))) as store:
        await _one_wrong_of_four(store)


async def test_rows_after_the_end_of_their_transaction_are_refused(tmp_path: Path) -> None:
    async with open_store(Settings(sqlite_url(tmp_path / "a.db"))) as store:
        async with store.begin() as rows:
            await rows.events.append([draft(1)])
        with pytest.raises(RuntimeError, match="after the end"):
            await rows.events.append([draft(2)])
        with pytest.raises(RuntimeError, match="after the end"):
            await rows.sandboxes.unfinished()


async def test_store_that_closes_waits_for_the_transaction_that_is_open(tmp_path: Path) -> None:
    url, inside, go_on = sqlite_url(tmp_path / "a.db"), asyncio.Event(), asyncio.Event()

    async def slow(store: SqlStore) -> None:
        async with store.begin() as rows:
            inside.set()
            await go_on.wait()
            await rows.events.append([draft(1)])

    async with asyncio.TaskGroup() as tasks, open_store(Settings(url)) as store:
        tasks.create_task(slow(store))
        await inside.wait()
        asyncio.get_running_loop().call_soon(go_on.set)
    async with open_store(Settings(url)) as store, store.read() as rows:
        assert await rows.events.last_position() == 1


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that speaks TLS: its address, and the certificate that it shows."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = own_certificate(folder, "127.0.0.1", names=("localhost",))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ("listen_addresses=127.0.0.1,127.0.0.2", f"port={port}", "ssl=on")
    files = {"server.crt": certificate.read_bytes(), "server.key": key.read_bytes()}
    with serving(*settings, files=files):
        yield f"postgresql://{USER}@localhost:{port}/postgres", certificate


async def _tls(url: str) -> bool:
    engines = open_engines(url, 2)
    try:
        async with engines.reader.connect() as connection:
            found = await connection.execute(
                text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            )
            return bool(found.scalar_one())
    finally:
        await engines.close()


async def test_servers_certificate_is_checked_as_the_url_says(secured: tuple[str, Path]) -> None:
    url, certificate = secured
    assert await _tls(f"{url}?sslmode=require")
    assert not await _tls(f"{url}?sslmode=disable")
    trusted = f"{url}?sslmode=verify-full&sslrootcert={certificate}"
    assert await _tls(trusted)
    with pytest.raises(Unavailable, match="certificate"):
        await _tls(f"{url}?sslmode=verify-full&sslrootcert={ssl.get_default_verify_paths().cafile}")
    with pytest.raises(Unavailable, match="mismatch"):
        await _tls(trusted.replace("localhost", "127.0.0.2"))


@pytest.mark.parametrize("kind", ("sqlite", "postgres"))
async def test_statement_is_compiled_once_for_all_databases_of_a_kind(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    before = SQLCompiler.__init__

    def counted(self: SQLCompiler, *given: Any, **named: Any) -> None:
        before(self, *given, **named)
        compiled.append(self.string)

    if kind == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        urls = [server.url(server.empty()) for _ in range(2)]
    else:
        urls = [sqlite_url(tmp_path / name) for name in ("a.db", "b.db")]
    monkeypatch.setattr(SQLCompiler, "__init__", counted)
    statement = select(literal("1").label("of_this_test"))
    for url in urls:
        engines = open_engines(url, 2)
        async with engines.writing() as writing, engines.reader.connect() as reading:
            for connection in (writing, reading):
                assert (await connection.execute(statement)).scalar() == "1"
        await engines.close()
    assert len([one for one in compiled if "of_this_test" in one]) == 1


def test_dialects_are_equal_for_servers_of_one_version_alone() -> None:
    one, other = SqliteDialect(), SqliteDialect()
    postgres = module.PostgresDialect()  # type: ignore[no-untyped-call]
    assert one == other
    assert hash(one) == hash(other)
    assert one != postgres
    other.server_version_info = (3, 1)
    assert one != other
