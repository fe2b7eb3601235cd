"""The program that attacks an installation, against this one: behind every wall nothing succeeds,
and where there is no wall, or one is opened on purpose, it says so."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.redteam.pack import archive, disguised
from atoll.testing.server import TestServer, test_server
from tests.peers.api import api_of
from tests.security.conftest import Walled

NOBODY = 1_899_999_997
OPENED = "canary-opened-2Hk9Wq4Zt7"
BITES = {
    "hold capabilities, or a way to privilege",
    "make denied system calls",
    "open sockets past the network namespace",
    "type into a terminal by ioctl",
    "leave without a door",
    "take the doors' ports",
}
"""Attempts that succeed for anybody who is behind no wall."""


@pytest.fixture(scope="module")
def atoll() -> Iterator[TestServer]:
    with test_server() as server:
        yield server


def redteam(server: TestServer, *words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "ATOLL_HOME": str(server.home)}
    return subprocess.run(
        [sys.executable, "-m", "atoll.testing.redteam", *words],
        env={**env, "ATOLL_TOKEN": server.token, "ATOLL_URL": server.url},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(300)
def test_nothing_that_is_tried_behind_a_wall_succeeds(walled: Walled) -> None:
    done = redteam(walled.server, "--sandbox", "attacked", "--abuse", "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    bad = [one for one in told if one["outcome"] in ("succeeded", "broken")]
    assert not bad
    assert done.returncode == 0, done.stderr
    assert len(told) > 50
    # Only what a sandbox says of itself that it lacks may be left out.
    skipped = [one["text"] for one in told if one["outcome"] == "skipped"]
    assert all("degraded" in text for text in skipped), skipped
    assert walled.wall == "rootless" or not skipped
    names = [one["name"] for one in walled.api.call("GET", "/v1/secrets")["secrets"]]
    assert not [name for name in names if name.startswith("RT_")]


def test_without_a_wall_the_attempts_succeed() -> None:
    """Else they would prove nothing."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        program = Path(folder, "inside.pyz")
        program.write_bytes(archive({"mode": "limited"}))
        drop = {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}
        done = subprocess.run(  # type: ignore[call-overload]
            ["/usr/bin/python3", str(program)],
            **{
                "capture_output": True,
                "text": True,
                "env": {"HOME": folder},
                "check": True,
                **drop,
            },
        )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["name"] for one in told if one["outcome"] == "succeeded"} >= BITES
    doors = [one for one in told if "nothing listens" in one["text"]]
    assert len(doors) >= 5 and all(one["outcome"] == "skipped" for one in doors)


def test_secret_that_was_let_in_is_found_in_every_place(atoll: TestServer) -> None:
    """The hunt for canaries finds one that is there: exposed by its owner's word."""
    with api_of(atoll) as api:
        box = api.create(name="opened")["sandbox_id"]
        body = {"value": OPENED, "kind": "env", "env": "OPENED", "broker_protected": False}
        api.call("PUT", "/v1/secrets/OPENED", json=body)
        program = archive({"canary": disguised(OPENED), "mode": "limited"})
        api.call("PUT", f"/v1/sandboxes/{box}/files/content?path=x.pyz", content=program)
        api.run(box, "printf %s $OPENED > /workspace/it; sleep 300 >/dev/null 2>&1 &")
        lines = api.run(box, "python3 x.pyz").splitlines()
        found = {one["name"]: one["outcome"] for one in map(json.loads, lines)}
        for place in ("environments", "memory", "files"):
            assert found[f"find a secret in {place}"] == "succeeded"


def test_attempt_that_succeeds_ends_the_program_by_one_and_is_shown(atoll: TestServer) -> None:
    with api_of(atoll) as api:
        opened = "id: profile.opened\nversion: '1.0.0'\nenv: {DEPLOY_TOKEN: handed-in-by-hand}\n"
        api.call("PUT", "/v1/profiles/opened", content=opened)
    done = redteam(atoll, "--sandbox", "opened")
    assert done.returncode == 1
    bad = [line for line in done.stdout.splitlines() if line.startswith("BAD")]
    assert len(bad) == 1 and "DEPLOY_TOKEN" in bad[0]


def test_profile_that_is_not_there_is_said_in_a_sentence(atoll: TestServer) -> None:
    done = redteam(atoll, "--sandbox", "no-such")
    assert done.returncode == 1
    assert "no-such" in done.stderr and "Traceback" not in done.stderr
