import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from atoll.adapters.storage import schema
from atoll.adapters.storage.store import Settings, open_store
from atoll.ports import Store
from atoll.testing.contracts.store import StoreContract

BIN = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nonexistent"))
_numbers = itertools.count()

pytestmark = [
    pytest.mark.skipif(not (BIN / "initdb").exists(), reason="no PostgreSQL server here"),
    pytest.mark.skipif(importlib.util.find_spec("asyncpg") is None, reason="no asyncpg here"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A throw-away server on a unix socket; it refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    user = "postgres" if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user, user)
    data = folder / "data"

    def run(*argv: str | Path) -> None:
        out, said = subprocess.DEVNULL, subprocess.STDOUT
        subprocess.run(argv, check=True, stdout=out, stderr=said, cwd=folder, user=user, group=user)

    run(BIN / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    control = (BIN / "pg_ctl", "-D", data, "-w")
    run(*control, "-o", options, "start")
    try:
        yield f"postgresql+asyncpg://postgres@/NAME?host={folder}"
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder)


async def empty_database(server: str) -> str:
    """Make a database; returns its URL."""
    name = f"atoll{next(_numbers)}"
    engine = create_async_engine(server.replace("NAME", "postgres"), isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text(f"CREATE DATABASE {name}"))
    await engine.dispose()
    return server.replace("NAME", name)


class TestPostgres(StoreContract):
    @pytest.fixture(autouse=True)
    def _url(self, server: str) -> None:
        self.url = server

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        async with open_store(Settings(await empty_database(self.url))) as store:
            yield store


STRUCTURE = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity"
    " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace ORDER BY 1",
)


async def structure(url: str) -> list[object]:
    """Columns, indexes and constraints, as PostgreSQL sees them."""
    engine = create_async_engine(url)
    async with engine.connect() as connection:
        found: list[object] = [(await connection.execute(text(query))).all() for query in STRUCTURE]
    await engine.dispose()
    return found


async def test_new_database_is_as_the_migrations_make_it(server: str) -> None:
    migrated, new = await empty_database(server), await empty_database(server)
    engine = create_async_engine(migrated)
    async with engine.begin() as connection:
        await connection.run_sync(schema._migrate)
    await engine.dispose()
    async with open_store(Settings(new)):
        pass
    assert await structure(new) == await structure(migrated)
