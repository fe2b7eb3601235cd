"""Archives between the databases, with rows in every table that there is."""

import asyncio
import io
import itertools
import shutil
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from sqlalchemy import Integer, LargeBinary, Table, insert

from atoll.adapters.storage.archive import tables
from atoll.adapters.storage.archive.database import SqlDatabase
from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_engines, open_store
from atoll.domain.errors import Conflict, Failed, Unavailable
from atoll.domain.ids import PERSONAL_ORG
from atoll.ports import EventQuery
from atoll.testing import FakeDatabase
from atoll.testing.contracts.storage.database import DatabaseContract, archive_of
from atoll.testing.samples import OWNER, draft
from atoll.wiring.database import DERIVATIONS
from tests.adapters.storage.event_log import append, remove
from tests.peers.databases.postgres import PostgresServer

HARD = "é\x00\u2028\U0001f600\\ \"'"
"""Text that a careless copy would change."""

Make = Callable[[], str]


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def on_sqlite(folder: Path) -> Make:
    numbers = itertools.count()
    return lambda: sqlite_url(folder / f"{next(numbers)}.db")


@pytest.fixture
def on_postgres(postgres: PostgresServer) -> Iterator[Make]:
    made: list[str] = []

    def make() -> str:
        made.append(postgres.empty())
        return postgres.url(made[-1])

    yield make
    for name in made:
        postgres.drop(name)


def value(column: object, kind: object, number: int) -> object:
    if isinstance(kind, LargeBinary):
        return bytes(range(number, number + 40))
    if isinstance(kind, Integer):
        return 2**40 + number if kind.__class__ is not Integer else number
    return f"{column} {number} {HARD.replace(chr(0), '')}"


def rows_of(table: Table, count: int) -> list[dict[str, object]]:
    return [
        {column.name: value(column.name, column.type, number) for column in table.c}
        for number in range(1, count + 1)
    ]


async def fill(url: str, count: int = 3) -> None:
    """Put rows into every table, then events by the store, some of which are removed again."""
    async with open_store(Settings(url)):
        engines = open_engines(url, 1)
        async with engines.writing() as connection:
            for table in tables.tables():
                if table.name not in ("events", "event_gaps"):
                    await connection.execute(insert(table), rows_of(table, count))
        await engines.close()
    async with open_store(Settings(url)) as store:
        await append(store, [draft(n) for n in range(1, 5)] + [draft(1, stream="b")])
        await remove(store, "auth", below=3)


async def appended(url: str) -> tuple[int, int]:
    """Append an event, and return its position and number."""
    async with open_store(Settings(url)) as store:
        await append(store, [draft(9)])
        async with store.read() as rows:
            page = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER, latest=True, limit=1))
        return page[0].position, page[0].seq


class TestSqliteToPostgres(DatabaseContract):
    @pytest.fixture
    def filled(self, on_sqlite: Make) -> SqlDatabase:
        url = on_sqlite()
        asyncio.run(fill(url))
        return SqlDatabase(url, DERIVATIONS)

    @pytest.fixture
    def empty(self, on_postgres: Make) -> SqlDatabase:
        return SqlDatabase(on_postgres(), DERIVATIONS)


@pytest.mark.slow
class TestPostgresToSqlite(DatabaseContract):
    @pytest.fixture
    def filled(self, on_postgres: Make) -> SqlDatabase:
        url = on_postgres()
        asyncio.run(fill(url))
        return SqlDatabase(url, DERIVATIONS)

    @pytest.fixture
    def empty(self, on_sqlite: Make) -> SqlDatabase:
        return SqlDatabase(on_sqlite(), DERIVATIONS)


class TestFakeDatabase(DatabaseContract):
    @pytest.fixture
    def filled(self) -> FakeDatabase:
        return FakeDatabase({"events": ["one", "two"], "sandboxes": [], "shares": ["three"]})

    @pytest.fixture
    def empty(self) -> FakeDatabase:
        return FakeDatabase()


def test_every_table_has_a_key_by_which_it_can_be_read() -> None:
    assert all(table.primary_key.columns for table in tables.tables())
    assert {"events", "sandboxes", "secrets"} <= {table.name for table in tables.tables()}


def test_rows_and_numbers_go_there_and_back(on_sqlite: Make, on_postgres: Make) -> None:
    urls = on_sqlite(), on_postgres(), on_sqlite()
    asyncio.run(fill(urls[0]))
    first = archive_of(SqlDatabase(urls[0]))
    for source, target in itertools.pairwise(urls):
        SqlDatabase(target).load(io.BytesIO(archive_of(SqlDatabase(source))))
    copied = [SqlDatabase(url).export(io.BytesIO()) for url in urls]
    assert copied[0] == copied[1] == copied[2]
    assert {one.name: one.rows for one in copied[0]}["event_gaps"] == 1
    assert first
    for url in urls:
        assert asyncio.run(appended(url)) == (6, 5)


@pytest.mark.parametrize("database", ("sqlite", "postgres"))
def test_numbers_of_removed_rows_are_not_given_again(
    request: pytest.FixtureRequest, on_sqlite: Make, database: str
) -> None:
    source, target = on_sqlite(), request.getfixturevalue(f"on_{database}")()
    asyncio.run(fill(source))
    SqlDatabase(target).load(io.BytesIO(archive_of(SqlDatabase(source))))
    status = {one.name: one for one in SqlDatabase(target).status().tables}
    assert status["events"].rows == 3
    assert asyncio.run(appended(target))[0] == 6


def test_pages_end_where_tables_do(
    on_sqlite: Make, on_postgres: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PAGE", 20)
    for count in (tables.PAGE, tables.PAGE + 1):
        source, target = SqlDatabase(on_sqlite()), SqlDatabase(on_postgres())
        asyncio.run(fill(source._url, count))
        copied = target.load(io.BytesIO(archive_of(source)))
        assert {one.name: one.rows for one in copied}["profiles"] == count
        assert target.export(io.BytesIO()) == copied


def test_memory_does_not_grow_with_the_rows(on_sqlite: Make) -> None:
    peaks = []
    for count in (2_000, 20_000):
        url = on_sqlite()
        asyncio.run(_fill_events(url, count))
        tracemalloc.start()
        SqlDatabase(url).export(cast(BinaryIO, _Nowhere()))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5


class _Nowhere(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return len(data)  # type: ignore[arg-type]


async def _fill_events(url: str, count: int) -> None:
    async with open_store(Settings(url)):
        pass
    engines = open_engines(url, 1)
    async with engines.writing() as connection:
        table = metadata.tables["idempotency_keys"]
        await connection.execute(insert(table), rows_of(table, count))
    await engines.close()


def test_import_that_does_not_compare_leaves_nothing(
    on_sqlite: Make, on_postgres: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = SqlDatabase(on_sqlite()), SqlDatabase(on_postgres())
    asyncio.run(fill(source._url))
    archive = archive_of(source)
    plain = tables.tally

    async def changed(connection: object, table: Table) -> object:
        return await plain(connection, table) if table.name != "events" else None  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "tally", changed)
    with pytest.raises(Failed, match="events"):
        target.load(io.BytesIO(archive))
    assert target.status().tables == ()


def test_database_of_a_running_control_plane_is_looked_at_and_derived_alone(
    on_postgres: Make,
) -> None:
    database = SqlDatabase(on_postgres(), DERIVATIONS)

    async def used() -> None:
        async with open_store(Settings(database._url)) as store, store.read():
            for work in (database.migrate, lambda: database.export(io.BytesIO())):
                with pytest.raises(Conflict, match="running Atoll"):
                    await asyncio.to_thread(work)
            status = await asyncio.to_thread(database.status)
            assert status.revision == status.newest
            derived = await asyncio.to_thread(database.rebuild)
            assert [(one.name, one.lag) for one in derived] == [(name, 0) for name in DERIVATIONS]

    asyncio.run(used())


def test_other_peoples_tables_are_left_alone(on_postgres: Make, on_sqlite: Make) -> None:
    source, target = SqlDatabase(on_sqlite()), SqlDatabase(on_postgres())
    asyncio.run(fill(source._url))

    async def make() -> None:
        engines = open_engines(target._url, 1)
        async with engines.writing() as connection:
            await connection.exec_driver_sql("CREATE TABLE theirs (id int)")
        await engines.close()

    asyncio.run(make())
    with pytest.raises(Conflict, match="something else"):
        target.load(io.BytesIO(archive_of(source)))


@pytest.mark.parametrize("database", ("sqlite", "postgres"))
def test_status_tells_sizes_and_no_password(request: pytest.FixtureRequest, database: str) -> None:
    url = request.getfixturevalue(f"on_{database}")()
    asyncio.run(fill(url))
    found = SqlDatabase(url.replace("postgres@", "postgres:hushhush@")).status()
    assert "hush" not in repr(found)
    assert found.bytes > 0 and found.revision == found.newest
    assert all(one.rows for one in found.tables)
    assert all(one.bytes is None or one.bytes > 0 for one in found.tables)
    assert [one.name for one in found.tables] == [one.name for one in tables.tables()]


def test_server_that_is_not_there_is_said_without_its_password() -> None:
    database = SqlDatabase("postgresql://me:hushhush@127.0.0.1:1/atoll")
    with pytest.raises(Unavailable) as raised:
        database.status()
    assert "hushhush" not in raised.value.message and "did not answer" in raised.value.message
