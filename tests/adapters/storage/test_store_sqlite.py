import asyncio
import shutil
import sqlite3
import stat
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import cast, get_origin, get_type_hints

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.engines.sqlite_link import link
from atoll.adapters.storage.migrations import schema
from atoll.adapters.storage.sandboxes import living_of, page_of
from atoll.adapters.storage.store import Settings, open_store
from atoll.adapters.storage.transaction import transaction
from atoll.adapters.storage.workers.workers import aged_of
from atoll.domain.errors import Unavailable
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.consumer import ConsumerFilter
from atoll.ports import SandboxQuery, Store, Transaction
from atoll.testing.samples import NOW, draft, sandbox
from atoll.wire.words.sandboxes import State
from tests.adapters.storage.contract import StoreContract
from tests.adapters.storage.event_log import append


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


class TestSqlite(StoreContract):
    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        with tempfile.TemporaryDirectory(prefix="at") as path:
            async with open_store(Settings(sqlite_url(Path(path) / "a.db"))) as store:
                yield store


async def test_database_is_its_owners_alone_and_survives_reopening(folder: Path) -> None:
    url = sqlite_url(folder / "a.db")
    async with open_store(Settings(url)) as store:
        await append(store, [draft(1)])
        for path in folder.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    async with open_store(Settings(url)) as store, store.read() as rows:
        assert await rows.events.last_position() == 1


def migrate(path: Path) -> None:
    """Make a database by the migrations alone, as an older program's is brought up to date."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema._migrate(connection)
    engine.dispose()


def structure(path: Path) -> dict[str, list[object]]:
    """Tables with their columns, and indexes with their columns, as SQLite sees them."""
    with closing(sqlite3.connect(path)) as connection:
        found: dict[str, list[object]] = {}
        for kind, name, text in connection.execute("SELECT type, name, sql FROM sqlite_master"):
            pragma = "table_xinfo" if kind == "table" else "index_xinfo"
            columns = [row[1:] for row in connection.execute(f"PRAGMA {pragma}({name})")]
            words = " ".join((text or "").split())
            shape = "AUTOINCREMENT" in words if kind == "table" else words
            found[f"{kind} {name}"] = [shape, sorted(map(repr, columns))]
        return found


async def test_migrations_make_exactly_the_tables_in_use(folder: Path) -> None:
    migrate(folder / "a.db")
    engine = create_engine(f"sqlite:///{folder / 'a.db'}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


async def test_new_database_is_as_the_migrations_make_it(folder: Path) -> None:
    migrate(folder / "migrated.db")
    async with open_store(Settings(sqlite_url(folder / "new.db"))):
        pass
    assert structure(folder / "new.db") == structure(folder / "migrated.db")


@pytest.mark.parametrize(("noun", "port"), get_type_hints(Transaction).items())
def test_rows_have_every_method_of_their_port(noun: str, port: type) -> None:
    rows = type(vars(transaction(cast(AsyncConnection, None)))[noun])
    port = get_origin(port) or port
    promised = {name for name in dir(port) if not name.startswith("_")}
    assert promised
    assert [name for name in promised if getattr(rows, name) is getattr(port, name)] == []


def test_known_head_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent))
    assert ScriptDirectory.from_config(config).get_current_head() == schema.HEAD


async def test_new_and_current_databases_open_without_alembic(folder: Path) -> None:
    url = sqlite_url(folder / "a.db")
    program = (
        "import asyncio, sys\n"
        "from atoll.adapters.storage.store import Settings, open_store\n"
        "async def main():\n"
        "    async with open_store(Settings(sys.argv[1])):\n"
        "        assert 'alembic' not in sys.modules\n"
        "asyncio.run(main())\n"
    )
    for _ in ("new", "current"):
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, url)
        assert await child.wait() == 0


async def test_newer_database_is_refused_in_words(folder: Path) -> None:
    path = folder / "a.db"
    async with open_store(Settings(sqlite_url(path))):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(Unavailable, match="newer Atoll"):
        async with open_store(Settings(sqlite_url(path))):
            pass


async def test_file_that_is_no_database_is_refused_in_words(folder: Path) -> None:
    path = folder / "a.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(Unavailable, match="not a database"):
        async with open_store(Settings(sqlite_url(path))):
            pass


async def test_reader_does_not_wait_for_a_writer(folder: Path) -> None:
    url = sqlite_url(folder / "a.db")
    async with open_store(Settings(url)) as store, store.begin() as rows:
        await rows.sandboxes.insert(sandbox("one"))
        async with asyncio.timeout(2), store.read() as others:
            assert await others.sandboxes.unfinished() == []


def test_page_of_sandboxes_is_read_along_indexes(folder: Path) -> None:
    migrate(folder / "a.db")
    query = SandboxQuery(PERSONAL_ORG, LOCAL_PERSON.id, before=(NOW, SandboxId("sb_1")))
    statement = page_of(query).compile(
        dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}
    )
    with closing(sqlite3.connect(folder / "a.db")) as database:
        plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}")]
    steps = [step for step in plan if step.startswith(("SEARCH", "USE TEMP"))]
    assert [" ".join(step.split()[:5]) for step in steps] == [
        "SEARCH sandboxes USING INDEX sandboxes_living_by_age",
        "SEARCH sandboxes USING INDEX sandboxes_shared_by_age",
        "USE TEMP B-TREE FOR ORDER",
    ]


def test_sandboxes_of_a_harness_are_read_along_an_index(folder: Path) -> None:
    migrate(folder / "a.db")
    states = (State.READY, State.ACTIVE)
    consumers = ConsumerFilter("nightly", run_id="r-1")
    query = SandboxQuery(PERSONAL_ORG, LOCAL_PERSON.id, states, consumers=consumers)
    statement = page_of(query).compile(
        dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}
    )
    with closing(sqlite3.connect(folder / "a.db")) as database:
        plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert any("USING INDEX sandboxes_by_harness (org_id=? AND owner=? AND" in step
               for step in plan), plan  # fmt: skip


@pytest.mark.parametrize("owner", [None, LOCAL_PERSON.id])
def test_sandboxes_of_an_organization_are_read_along_an_index(
    folder: Path, owner: PrincipalId | None
) -> None:
    migrate(folder / "a.db")
    statement = living_of(PERSONAL_ORG, owner).compile(
        dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}
    )
    with closing(sqlite3.connect(folder / "a.db")) as database:
        plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert plan[0].startswith("SEARCH sandboxes USING INDEX sandboxes_living_by_age (org_id=?")


def test_old_events_of_workers_are_found_by_their_age(folder: Path) -> None:
    migrate(folder / "a.db")
    statement = aged_of(NOW, 9).compile(
        dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}
    )
    with closing(sqlite3.connect(folder / "a.db")) as database:
        plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert plan[0].startswith("SEARCH events USING INDEX events_apart_by_age (at_us<?")


async def test_cancelled_statement_is_over_when_its_task_is(folder: Path) -> None:
    database = await link(str(folder / "a.db"))
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def statement() -> None:
        begun.set()
        go_on.wait(60)
        over.set()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(database.run(statement))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
    assert task.cancelled()
    assert over.is_set(), "the thread still reports to a loop that may be gone"
    await database.close()


@pytest.mark.parametrize("fails", [False, True])
async def test_cancelled_opening_leaves_no_thread(
    folder: Path, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, connect = threading.Event(), threading.Event(), sqlite3.connect

    def slow(path: str) -> sqlite3.Connection:
        begun.set()
        go_on.wait(60)
        return connect(folder if fails else path)

    monkeypatch.setattr(sqlite3, "connect", slow)
    await asyncio.to_thread(int)  # its thread stays
    before = threading.active_count()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(link(str(folder / "a.db")))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
    assert task.cancelled()
    assert threading.active_count() == before


async def test_connection_that_is_cancelled_with_all_other_tasks_is_cancelled(folder: Path) -> None:
    before = asyncio.all_tasks()
    async with asyncio.TaskGroup() as tasks:
        opening = tasks.create_task(link(str(folder / "a.db")))
        await asyncio.sleep(0)
        # As an event loop does that ends: what has not begun never does.
        for task in asyncio.all_tasks() - before:
            task.cancel()
    assert opening.cancelled()
