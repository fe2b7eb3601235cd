from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from atoll.adapters.storage.migrations import schema
from atoll.adapters.storage.store import Settings, open_store
from atoll.ports import Store
from tests.adapters.storage.contract import StoreContract
from tests.peers.databases.postgres import PostgresServer


class TestPostgres(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: PostgresServer) -> None:
        self.server = postgres

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        name = self.server.current()
        try:
            async with open_store(Settings(self.server.url(name))) as store:
                yield store
        finally:
            self.server.give_back(name)


STRUCTURE = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity"
    " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace ORDER BY 1",
)


async def structure(url: str) -> list[object]:
    """Columns, indexes and constraints, as PostgreSQL sees them."""
    engine = create_async_engine(driven(url))
    async with engine.connect() as connection:
        found: list[object] = [(await connection.execute(text(query))).all() for query in STRUCTURE]
    await engine.dispose()
    return found


def driven(url: str) -> str:
    """The URL as SQLAlchemy takes it without our engines."""
    return url.replace("postgresql:", "postgresql+asyncpg:", 1)


@pytest.fixture
def urls(postgres: PostgresServer) -> Iterator[Callable[[], str]]:
    """Makes empty databases."""
    made: list[str] = []

    def make() -> str:
        made.append(postgres.empty())
        return postgres.url(made[-1])

    yield make
    for name in made:
        postgres.drop(name)


async def migrate(url: str, revision: str = "head") -> None:
    """Make a database by the migrations alone."""
    engine = create_async_engine(driven(url))
    async with engine.begin() as connection:
        await connection.run_sync(schema._migrate, revision)
    await engine.dispose()


async def test_new_database_is_as_the_migrations_make_it(urls: Callable[[], str]) -> None:
    migrated, new = urls(), urls()
    await migrate(migrated)
    async with open_store(Settings(new)):
        pass
    assert await structure(new) == await structure(migrated)
