"""The database of a test: SQLite in its folder, or one of the session's PostgreSQL server.

`--database postgres` chooses the latter for every test that opens its store at `database_url`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atoll.adapters.storage.engines.sqlite import sqlite_url
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
    """The URL of the database that belongs to a home, the same one each time."""
    return _chosen[-1].url(folder) if _chosen else sqlite_url(folder / "atoll.db")


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
