"""Databases that an older program made, dumped by the databases' own tools.

`tests/fixtures/databases` holds dumps of revision 0003, from the last program before 0004: two
sandboxes and a destroyed one, a secret, a profile, a link with a guest, and their 16 events.
"""

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from importlib import import_module
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.migrations import schema
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.ids import PERSONAL_ORG, WorkerKey
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports import EventQuery, Store
from atoll.testing.samples import draft
from tests.adapters.storage import test_store_postgres, test_store_sqlite
from tests.adapters.storage.event_log import append
from tests.adapters.storage.test_store_postgres import driven
from tests.peers.databases.postgres import PostgresServer
from tests.places import TESTS

DUMPS = TESTS / "fixtures" / "databases"
EVENTS = 16


class Old:
    """Makes databases, and looks at their structure."""

    async def make(self, dump: bool) -> str:
        """The URL of a new database: of the older program, or without tables."""
        raise NotImplementedError

    async def structure(self, url: str) -> object:
        """Tables, columns, indexes and constraints, as the database tells them."""
        raise NotImplementedError


class OldSqlite(Old):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def make(self, dump: bool) -> str:
        path = self.folder / f"{len(list(self.folder.iterdir()))}.db"
        if dump:
            with closing(sqlite3.connect(path)) as made:
                made.executescript((DUMPS / "r0003-sqlite.sql").read_text())
        return sqlite_url(path)

    async def structure(self, url: str) -> object:
        return test_store_sqlite.structure(Path(url.partition("///")[2]))


class OldPostgres(Old):
    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.made: list[str] = []

    async def make(self, dump: bool) -> str:
        self.made.append(self.server.empty())
        url = self.server.url(self.made[-1])
        if dump:
            link = await import_module("asyncpg").connect(url)
            await link.execute((DUMPS / "r0003-postgres.sql").read_text())
            await link.close()
        return url

    async def structure(self, url: str) -> object:
        return await test_store_postgres.structure(url)


@pytest.fixture(params=("sqlite", "postgres"))
def old(request: pytest.FixtureRequest) -> Iterator[Old]:
    if request.param == "sqlite":
        folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
        yield OldSqlite(folder)
        shutil.rmtree(folder)
        return
    made = OldPostgres(request.getfixturevalue("postgres"))
    yield made
    for name in made.made:
        made.server.drop(name)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    async with open_store(Settings(url)) as store:
        yield store


async def test_older_database_gets_the_structure_of_a_new_one(old: Old) -> None:
    older, new = await old.make(dump=True), await old.make(dump=False)
    for url in (older, new):
        async with opened(url):
            pass
    assert await old.structure(older) == await old.structure(new)


BEFORE_STREAMS_APART = (
    "INSERT INTO workers VALUES ('wk_a', 'personal', 'local', 'w', 1, 0, '{}')",
    *(
        f"INSERT INTO worker_events VALUES ('{key}', {seq}, 'worker.{kind}', 1, {seq}, '{{}}')"
        for key in ("wk_gone", "wk_a")
        for seq, kind in ((7, "started"), (8, "lost"), (9, "event"))
    ),
)


async def test_events_of_workers_become_streams_apart_of_the_log(old: Old) -> None:
    url = await old.make(dump=True)
    engine = create_async_engine(driven(url))
    async with engine.begin() as connection:
        await connection.run_sync(schema._migrate, "0040")
        for statement in BEFORE_STREAMS_APART:
            await connection.execute(text(statement))
    await engine.dispose()
    async with opened(url) as store, store.begin() as rows:
        for key in (WorkerKey("wk_a"), WorkerKey("wk_gone")):
            assert [one.seq for one in await rows.worker_events.page(key, 0, 9)] == [7, 8, 9]
            assert await rows.worker_events.remove(key, 9) == 2
            assert await rows.worker_events.last(key) == 9
        assert [one.position for one in await rows.events.after(0, 99)] == [*range(1, EVENTS + 1)]


async def test_rows_of_an_older_database_are_there_and_the_log_goes_on(old: Old) -> None:
    async with opened(await old.make(dump=True)) as store:
        async with store.read() as rows:
            sandboxes = {one.name: one for one in await rows.sandboxes.unfinished()}
            assert {name: one.state for name, one in sandboxes.items()} == {
                "api": "ready",
                "web": "stopped",
            }
            (secret,) = await rows.secrets.visible(PERSONAL_ORG, LOCAL_PERSON.id)
            assert secret.name == "K"
            assert [one.id for one in await rows.profiles.all(PERSONAL_ORG)] == ["profile.own"]
            ((_, guests),) = await rows.shares.of(sandboxes["api"].id)
            assert [guest.name for guest in guests] == ["Ada"]
            page = await rows.events.page(EventQuery(PERSONAL_ORG, LOCAL_PERSON.id))
            assert [event.position for event in page] == list(range(1, EVENTS + 1))
        stream = page[0].stream
        last = max(event.seq for event in page if event.stream == stream)
        await append(store, [draft(1, stream=stream, owner=LOCAL_PERSON.id)])
        async with store.read() as rows:
            (event,) = await rows.events.page(
                EventQuery(PERSONAL_ORG, LOCAL_PERSON.id, after=EVENTS)
            )
        assert (event.position, event.seq) == (EVENTS + 1, last + 1)


@pytest.mark.parametrize("dump", (True, False), ids=("older", "empty"))
async def test_programs_that_start_at_once_migrate_once(old: Old, dump: bool) -> None:
    url, alone = await old.make(dump), await old.make(dump)
    async with asyncio.TaskGroup() as tasks:
        for number in range(4):
            tasks.create_task(_start(url, number))
    async with opened(alone):
        pass
    assert await old.structure(url) == await old.structure(alone)
    async with opened(url) as store, store.read() as rows:
        before = EVENTS if dump else 0
        assert await rows.events.last_position() == before + 4


async def _start(url: str, number: int) -> None:
    async with opened(url) as store:
        await append(store, [draft(number)])
