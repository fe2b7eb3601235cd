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

from atoll.adapters.storage.store import Settings, open_store
from atoll.ports import Store
from atoll.testing.store_contract import StoreContract

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
    demote = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    if demote:
        shutil.chown(folder, **demote)
    data = folder / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": folder, **demote}
    subprocess.run(
        [BIN / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"], check=True, **quiet
    )
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    control = [BIN / "pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-o", options, "start"], check=True, **quiet)
    try:
        yield f"postgresql+asyncpg://postgres@/NAME?host={folder}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, **quiet)
        shutil.rmtree(folder)


class TestPostgres(StoreContract):
    @pytest.fixture(autouse=True)
    def _url(self, server: str) -> None:
        self.url = server

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        name = f"atoll{next(_numbers)}"
        engine = create_async_engine(
            self.url.replace("NAME", "postgres"), isolation_level="AUTOCOMMIT"
        )
        async with engine.connect() as connection:
            await connection.execute(text(f"CREATE DATABASE {name}"))
        await engine.dispose()
        async with open_store(Settings(self.url.replace("NAME", name))) as store:
            yield store
