"""The steps of docs/run/database.md, followed on this machine, and a server that goes away."""

import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from atoll.testing.server import TestServer, test_server
from atoll.zygote.wall import cgroups
from tests.peers.api import api_of
from tests.peers.databases.cut import cut_line
from tests.peers.databases.postgres import BIN, USER, PostgresServer
from tests.places import ROOT

PAGE = (ROOT / "docs" / "run" / "database.md").read_text()
THEIR_URL = "db.example.com/atoll?sslmode=verify-full"
THEIR_HOME = "~/.local/state/atoll"

LOAD_SECONDS = 3.0
CLIENTS = 6
PROFILE = """\
id: profile.p{}
version: "1.0.0"
extension: ext.namespaces
ttl: {{default: 1h, max: 4h, retention: 1d}}
"""


def commands(heading: str) -> list[str]:
    """The commands of a section, without what they print."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert section is not None
    blocks = re.findall(r"^```console\n(.*?)^```$", section[1], re.M | re.S)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


class Follower:
    """Somebody who types what the page shows, with this machine's names in it."""

    def __init__(self, server: TestServer, postgres: PostgresServer, folder: Path) -> None:
        self.server = server
        self.postgres = postgres
        self.folder = folder

    def run(self, command: str) -> str:
        here = f"/atoll?host={self.postgres.folder}"
        told = command.replace(THEIR_URL, here).replace(THEIR_HOME, str(self.server.home))
        programs = f"{Path(shutil.which('true') or '').parent}:{BIN}"
        done = subprocess.run(
            ["bash", "-c", told],
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": f"{ROOT / '.venv/bin'}:{programs}:{os.environ['PATH']}",
                "ATOLL_HOME": str(self.server.home),
                "PGHOST": str(self.postgres.folder),
                "PGUSER": USER,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (told, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture
def follower(postgres: PostgresServer, folder: Path) -> Iterator[Follower]:
    with test_server() as server:
        yield Follower(server, postgres, folder)
    for name in ("atoll", "atoll_restored"):
        postgres.drop(name)
    postgres.run("DROP ROLE IF EXISTS atoll")


def test_pages_steps_move_a_home_to_postgresql_and_back_it_up(follower: Follower) -> None:
    with api_of(follower.server) as api:
        made = api.create(name="moved")["sandbox_id"]
        api.run(made, "echo kept >a.txt")
        before = api.call("GET", "/v1/events?limit=1000")["events"]
    for command in commands("Make a role and a database"):
        follower.run(command)
    said = {command: follower.run(command) for command in commands("Move from SQLite")[:-1]}
    exported, imported = (said[next(c for c in said if f"db {w}" in c)] for w in ("ex", "im"))
    assert exported.split()[1] == imported.split()[1]
    assert "counts and checksums are those of the file" in imported
    assert stat.S_IMODE((follower.folder / "atoll-db.gz").stat().st_mode) == 0o600
    assert "postgresql at " in follower.run("atoll db status")
    assert commands("Move from SQLite")[-1] == "atoll up"
    assert follower.server.process is not None and follower.server.process.wait(60) == 0
    follower.server.start()
    with api_of(follower.server) as api:
        events = api.call("GET", "/v1/events?limit=1000")["events"]
        assert events[: len(before)] == before
        places = [event["position"] for event in events]
        assert places == list(range(places[0], places[0] + len(places)))
        api.act(made, "start")
        assert "kept" in api.run(made, "cat a.txt")
        for command in commands("Backups"):
            follower.run(command)
    rows = follower.run("psql -tA -d atoll_restored -c 'SELECT name FROM sandboxes'")
    assert rows.split() == ["moved"]


def test_lost_connections_are_503_and_come_back_without_a_restart(
    postgres: PostgresServer,
) -> None:
    name = postgres.empty()
    with test_server({"ATOLL_DATABASE_URL": postgres.url(name)}) as server:
        found = under_load(server, lambda: cut(postgres, name))
        assert found["503 unavailable"] > 0 and found["200"] > 0
        assert set(found) == {"200", "503 unavailable"}
        with api_of(server) as api:
            assert api.call("GET", "/v1/profiles")
            made = api.create(name="after")
            assert made["state"] == "ready"
        assert server.process is not None and server.process.poll() is None
    postgres.drop(name)


def test_database_that_goes_away_during_the_start_is_named_in_a_sentence(
    postgres: PostgresServer,
) -> None:
    """Also where several tasks of the start hear of it beside each other. The end waits for no
    group of control groups, of which the control plane itself is in one."""
    name = postgres.empty()
    url = postgres.url(name)
    folder = url.partition("host=")[2]
    with (
        cut_line(folder, b"login_books") as (way, line),
        test_server({"ATOLL_DATABASE_URL": url.replace(folder, way)}, start=False) as server,
    ):
        with pytest.raises(RuntimeError):
            server.start()
        assert line.was_cut.is_set()
        assert server.process is not None and server.process.wait(30) != 0
        assert time.monotonic() - line.cut_at < cgroups.LEAVE_SECONDS
        told = server.log.read_text()
    assert "Traceback" not in told, told
    assert re.search(r"^atoll: The database did not answer as it should", told, re.M)
    postgres.drop(name)


def cut(postgres: PostgresServer, name: str) -> None:
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE application_name = 'atoll' AND datname = '{name}'"
    )


def under_load(server: TestServer, act: Callable[[], None]) -> Counter[str]:
    """Read and write by several clients while `act` happens again and again; what they got."""
    found: Counter[str] = Counter()
    over = threading.Event()

    def client(number: int) -> None:
        headers = {"Authorization": f"Bearer {server.token}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=60) as http:
            while not over.is_set():
                text = PROFILE.format(number)
                for answer in (
                    http.put(f"/v1/profiles/p{number}", content=text),
                    http.get("/v1/sandboxes"),
                ):
                    code = "" if answer.is_success else f" {answer.json()['code']}"
                    found[f"{answer.status_code}{code}"] += 1

    clients = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    for one in clients:
        one.start()
    end = time.monotonic() + LOAD_SECONDS
    while time.monotonic() < end:
        act()
        time.sleep(0.05)
    over.set()
    for one in clients:
        one.join()
    return found
