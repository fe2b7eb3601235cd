"""A throw-away PostgreSQL server, and databases on it that tests get in milliseconds.

The server listens on a unix socket in a folder of its own, runs as an unprivileged user when the
tests run as root, and never syncs its files.
"""

import asyncio
import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

BIN = max(
    Path("/usr/lib/postgresql").glob("*/bin"),
    key=lambda path: [int(part) for part in path.parent.name.split(".") if part.isdigit()],
    default=Path("/nonexistent"),
)
"""The programs of the newest server here. Debian keeps them out of the PATH."""

USER = "postgres"
"""The superuser of the server, and on Debian the account that may run one."""

SETTINGS = (
    *("listen_addresses=''", "fsync=off", "full_page_writes=off", "synchronous_commit=off"),
    *("autovacuum=off", "shared_buffers=64MB", "max_connections=200", "wal_level=minimal"),
    "max_wal_senders=0",
)


def missing() -> str | None:
    """Why there can be no server here; None when there can."""
    if not (BIN / "initdb").exists():
        return "no PostgreSQL server here (apt-get install postgresql)"
    if importlib.util.find_spec("asyncpg") is None:
        return "no asyncpg here (pip install 'atoll[postgres]')"
    if os.geteuid() == 0 and not _has_account():
        return f"PostgreSQL does not run as root, and there is no user {USER}"
    return None


def _has_account() -> bool:
    try:
        pwd.getpwnam(USER)
    except KeyError:
        return False
    return True


EMPTY = """DO $$ DECLARE one text; BEGIN
  FOR one IN SELECT quote_ident(tablename) FROM pg_tables
      WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE 'DELETE FROM ' || one;
  END LOOP;
  PERFORM setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S';
END $$"""
"""Makes a database what it was when it was new. To delete is a tenth of the work of a copy."""

USES = 40
"""Tests that one database serves: what was deleted stays in its files."""


class PostgresServer:
    """A running server. Its own connection lives on a thread, so that any test may call it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)
        self._template: str | None = None
        self._free: list[str] = []
        self._used: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._link: Any = None

    def url(self, name: str) -> str:
        """The URL of a database."""
        return f"postgresql://{USER}@/{name}?host={self.folder}"

    def empty(self) -> str:
        """The name of a new database without tables."""
        name = f"atoll{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return name

    def current(self) -> str:
        """The name of a database with the tables of today, all empty."""
        if self._free:
            return self._free.pop()
        if self._template is None:
            self._template = self.empty()
            self._await(_made(self.url(self._template)))
        name = f"atoll{next(self._numbers)}"
        # The files are copied whole: to write each page to the log takes twice as long.
        self.run(f"CREATE DATABASE {name} TEMPLATE {self._template} STRATEGY FILE_COPY")
        return name

    def give_back(self, name: str) -> None:
        """Empty a database that came of `current` and whose tables are as they were, for the next
        one; end who still uses it."""
        self._used[name] += 1
        if self._used[name] == USES:
            self.drop(name)
            return
        held = (
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname='{name}'"
        )
        self.run(held)
        self.rows(name, EMPTY)
        self._free.append(name)

    def drop(self, name: str) -> None:
        """Remove a database, whoever still uses it."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def run(self, statement: str) -> list[Any]:
        """Run a statement as the superuser, and return its rows."""
        return self._await(self._run(statement))

    def rows(self, name: str, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement in one of the databases, and return its rows."""
        return [tuple(row) for row in self._await(self._rows(name, statement))]

    def close(self) -> None:
        """End the connection and its thread."""
        if self._link is not None:
            self._await(self._link.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _run(self, statement: str) -> list[Any]:
        if self._link is None:
            self._link = await import_module("asyncpg").connect(self.url("postgres"))
        found: list[Any] = await self._link.fetch(statement)
        return found

    async def _rows(self, name: str, statement: str) -> list[Any]:
        link = await import_module("asyncpg").connect(self.url(name))
        try:
            found: list[Any] = await link.fetch(statement)
        finally:
            await link.close()
        return found

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)


async def _made(url: str) -> None:
    from atoll.adapters.storage.store import Settings, open_store

    async with open_store(Settings(url)):
        pass


@contextmanager
def serving(*settings: str, files: Mapping[str, bytes] | None = None) -> Iterator[PostgresServer]:
    """A server in a new folder; `settings` are added to those above, `files` lie in its data."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    user = USER if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user, user)
    folder.chmod(0o711)  # its socket is for every user of this machine; its data is not
    data = folder / "data"

    def run(*argv: str | Path) -> None:
        out, said = subprocess.DEVNULL, subprocess.STDOUT
        subprocess.run(argv, check=True, stdout=out, stderr=said, cwd=folder, user=user, group=user)

    run(BIN / "initdb", "-D", data, "-U", USER, "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
    for name, content in (files or {}).items():
        (data / name).write_bytes(content)
        (data / name).chmod(0o600)
        if user is not None:
            shutil.chown(data / name, user, user)
    places = (f"unix_socket_directories={folder}",)
    options = " ".join(f"-c {one}" for one in (*SETTINGS, *places, *settings))
    control = (BIN / "pg_ctl", "-D", data, "-w")
    try:
        run(*control, "-o", options, "start")
        server = PostgresServer(folder)
        try:
            yield server
        finally:
            server.close()
            run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
