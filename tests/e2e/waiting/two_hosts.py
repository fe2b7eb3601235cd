"""Two hosts of one installation: each its own home, zygote and disks, on the same database."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from atoll.testing.server import TestServer, test_server
from tests.peers.databases.postgres import PostgresServer

MASTER_KEY = "master.key"
"""What an operator puts into the home of a new host: see docs/run/production.md."""


@dataclass
class Hosts:
    """The first host, which runs, and another one that takes over."""

    first: TestServer
    second: TestServer
    folder: Path | None

    def lose_first(self) -> None:
        """Have the first host end in the midst of its work, and its folder be gone. The second one
        starts."""
        key = (self.first.home / MASTER_KEY).read_bytes()
        self.first.kill()
        self.first.down()
        shutil.rmtree(self.first.home)
        (self.second.home / MASTER_KEY).write_bytes(key)
        (self.second.home / MASTER_KEY).chmod(0o600)
        self.second.start()
        hand_over(self.folder, self.second)

    def leftovers(self) -> list[str]:
        """Return what lies on the second host of disks that were on their way."""
        home = self.second.home
        places = ("imports", "boxes/loans", "boxes/snapshots")
        return sorted(f"{place}/{one.name}" for place in places for one in (home / place).iterdir())


@contextmanager
def two_hosts(
    postgres: PostgresServer, settings: Mapping[str, str], *, folder: Path | None = None
) -> Iterator[Hosts]:
    """Two hosts whose settings are added to by `settings`; the first one runs. Both have the
    contents in `folder`, where that is given."""
    name = postgres.empty()
    env = {"ATOLL_DATABASE_URL": postgres.url(name), **settings}
    if folder is not None:
        folder.mkdir()
        env["ATOLL_CONTENT_STORE"] = str(folder)
    with test_server(env) as first, test_server(env, start=False) as second:
        hand_over(folder, first)
        yield Hosts(first, second, folder)
    postgres.drop(name)


def hand_over(folder: Path | None, server: TestServer) -> None:
    """Give the folder of contents to the user of a control plane, as docs/run/contents.md asks."""
    for path in () if folder is None else (folder, *folder.rglob("*")):
        os.chown(path, server.home.stat().st_gid, -1, follow_symlinks=False)
