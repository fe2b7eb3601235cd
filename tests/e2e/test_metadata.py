"""`metadata.json` of a sandbox: there from its first moment, and true until it is gone."""

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.api import api_of, until

PATIENCE = 60


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server({"ATOLL_MAX_SANDBOXES": "9"}) as started:
        yield started


def _file(server: TestServer, sandbox: str) -> Path:
    return server.home / "sandboxes" / sandbox / "metadata.json"


def _read(server: TestServer, sandbox: str) -> dict[str, Any]:
    file = _file(server, sandbox)
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def _until(
    server: TestServer, sandbox: str, holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    return until(lambda: _read(server, sandbox), holds, PATIENCE)


def test_metadata_file_follows_the_life_of_a_sandbox(server: TestServer) -> None:
    with api_of(server) as api:
        made = api.create(name="kept", ttl="1h", copies=["a:b"])
        box = made["sandbox_id"]
        told = _until(server, box, lambda one: one.get("state") == "ready")
        assert made["metadata"].items() <= told.items()
        assert (told["name"], told["generation"], told["copies"]) == ("kept", 1, ["a:b"])
        assert told["expires_at"] == made["expires_at"]
        assert stat.S_IMODE(_file(server, box).stat().st_mode) == 0o600
        extended = api.call("POST", f"/v1/sandboxes/{box}/extend_ttl", json={"ttl": "30m"})
        _until(server, box, lambda one: one["expires_at"] == extended["expires_at"])
        api.call("PUT", f"/v1/sandboxes/{box}/network", json={"mode": "none"})
        _until(server, box, lambda one: one["network_mode"] == "none")
        api.act(box, "stop")
        _until(server, box, lambda one: one["state"] == "stopped")
        api.act(box, "recreate")
        again = _until(server, box, lambda one: one["state"] == "ready")
        assert again["generation"] == 2
        api.call("DELETE", f"/v1/sandboxes/{box}?wait=true")
        until(_file(server, box).parent.exists, lambda there: not there, PATIENCE)


def test_metadata_that_was_lost_or_left_over_is_made_good_at_the_start(
    server: TestServer,
) -> None:
    with api_of(server) as api:
        box = api.create()["sandbox_id"]
        _until(server, box, lambda one: one.get("state") == "ready")
        server.kill()
        _file(server, box).unlink()
        stray = _file(server, "sb_stray")
        stray.parent.mkdir()
        stray.write_text("{}")
        if os.geteuid() == 0:
            shutil.chown(stray.parent, _file(server, box).parent.stat().st_uid)
        server.start()
        _until(server, box, lambda one: one.get("state") == "ready")
        until(stray.exists, lambda there: not there, PATIENCE)
