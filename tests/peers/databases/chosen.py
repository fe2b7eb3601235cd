"""The database of a test: SQLite in its folder, or one of the session's PostgreSQL server.

`--database postgres` chooses the latter for every test that opens its store at `database_url`.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread

from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_store
from tests.peers.databases.postgres import PostgresServer


class _Databases:
    """The databases of the test that runs, by the folder of its home."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.names: dict[Path, str] = {}

    def url(self, folder: Path) -> str:
        if folder not in self.names:
            self.names[folder] = self.server.current()
        return self.server.url(self.names[folder])

    def give_back(self) -> None:
        for name in self.names.values():
            self.server.give_back(name)


_chosen: list[_Databases] = []


def database_url(folder: Path) -> str:
    """The URL of the database that belongs to a home, the same one each time. It has its tables
    already: to copy them is many times faster than to make them, and thousands of tests do."""
    if _chosen:
        return _chosen[-1].url(folder)
    path = folder / "atoll.db"
    if not path.exists():
        path.touch(0o600)
        path.write_bytes(_empty_database())
    return sqlite_url(path)


@cache
def _empty_database() -> bytes:
    """The file of a database that was made and closed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "atoll.db"
        making = Thread(target=lambda: asyncio.run(_made(sqlite_url(path))))
        making.start()
        making.join()
        return path.read_bytes()


async def _made(url: str) -> None:
    async with open_store(Settings(url)):
        pass


@contextmanager
def on_postgres(server: PostgresServer) -> Iterator[None]:
    """Have `database_url` name databases of this server; others get them afterwards."""
    mine = _Databases(server)
    _chosen.append(mine)
    try:
        yield
    finally:
        _chosen.remove(mine)
        mine.give_back()
