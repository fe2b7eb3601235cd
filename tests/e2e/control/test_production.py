"""The steps of docs/run/production.md: backup, everything gone, restore; the unit of systemd."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.api import api_of
from tests.peers.databases.postgres import BIN, PostgresServer
from tests.places import ROOT

PAGE = (ROOT / "docs/run/production.md").read_text()
SECRET = "s3cr3t-of-the-backup"
UNIT = ROOT / "deploy/atoll.service"


def commands(heading: str) -> list[str]:
    """The commands of the first block below a heading."""
    found = re.search(rf"^## {heading}\n.*?^```console\n(.*?)^```$", PAGE, re.M | re.S)
    assert found is not None
    return [line[2:] for line in found[1].splitlines()]


class Keeper:
    """Somebody who follows the page."""

    def __init__(self, server: TestServer, url: str, backup: Path) -> None:
        self.server, self.url, self.backup = server, url, backup
        self.database = url.partition("@/")[2].partition("?")[0]

    def follow(self, heading: str) -> None:
        for command in commands(heading):
            env = {"ATOLL_HOME": str(self.server.home), "ATOLL_DATABASE_URL": self.url}
            subprocess.run(
                ["bash", "-c", command],
                env={**os.environ, **env, "BACKUP": str(self.backup), "PATH": _PATH},
                check=True,
            )


_PATH = f"{BIN}:{os.environ['PATH']}"


@pytest.fixture
def keeper(postgres: PostgresServer, tmp_path: Path) -> Iterator[Keeper]:
    name = postgres.empty()
    url = postgres.url(name)
    with test_server({"ATOLL_DATABASE_URL": url}) as server:
        yield Keeper(server, url, tmp_path / "backup")
    postgres.drop(name)


def test_backup_restored_on_an_empty_machine_has_sandboxes_secrets_events_and_audit(
    keeper: Keeper, postgres: PostgresServer
) -> None:
    server, name = keeper.server, keeper.database
    with api_of(server) as api:
        made = api.create(name="kept")["sandbox_id"]
        api.run(made, "echo work >a.txt")
        words = ("secret", "set", "KEPT", "--env", "KEPT", "--expose")
        assert server.run(*words, input=SECRET).returncode == 0
        before = api.call("GET", "/v1/events?limit=1000")["events"]
        secrets = api.call("GET", "/v1/secrets")
    server.down()
    keeper.follow("Back up")

    shutil.rmtree(server.home)
    postgres.drop(name)
    postgres.run(f"CREATE DATABASE {name}")

    keeper.follow("Restore")
    server.start()
    with api_of(server) as api:
        events = api.call("GET", "/v1/events?limit=1000")["events"]
        assert events[: len(before)] == before
        assert [one["position"] for one in events] == list(range(1, len(events) + 1))
        assert api.call("GET", "/v1/secrets") == secrets
        api.act(made, "start")
        # Its output would be masked.
        assert api.run(made, f"cat a.txt; test $KEPT = {SECRET} && echo opened") == "work\nopened\n"
    assert server.run("audit", "verify").returncode == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_unit_of_systemd_is_one(tmp_path: Path) -> None:
    # The program of an installation; systemd looks whether it is there.
    program = tmp_path / "atoll"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/atoll/bin/atoll", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
