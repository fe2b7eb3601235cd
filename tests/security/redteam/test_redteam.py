"""The program that attacks an installation, against this one: behind every wall nothing succeeds,
and where one is opened on purpose, it says so. test_redteam_controls.py takes the walls away."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

from atoll.testing.redteam.pack import archive, mask_value
from atoll.testing.server import TestServer, test_server
from tests.claims import whole_machine
from tests.peers.api import api_of
from tests.places import TESTS
from tests.security.conftest import Walled

OPENED = "canary-opened-2Hk9Wq4Zt7"
ROWS = tomllib.loads((TESTS / "security" / "attempts.toml").read_text())
ATTEMPTED: dict[str, list[str]] = {
    number: row["attempts"] for number, row in ROWS.items() if "attempts" in row
}
NUMBERED = sorted(ATTEMPTED, key=int)


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


Told = dict[str, dict[str, str]]


@pytest.fixture(scope="session")
def told(walled: Walled) -> Told:
    """What every attempt came to behind a wall, by its name."""
    with whole_machine():
        done = redteam(walled.server, "--sandbox", "attacked", "--abuse", "--json")
    assert done.returncode in (0, 1, 2), done.stderr
    assert done.stdout, done.stderr
    return {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", NUMBERED)
def test_attempts_of_a_row_are_held_behind_each_wall(told: Told, number: str) -> None:
    outcomes = {name: told[name] for name in ATTEMPTED[number]}
    # Only what a sandbox says of itself that it lacks may be left out.
    held = {
        name
        for name, one in outcomes.items()
        if one["outcome"] == "held" or (one["outcome"] == "skipped" and "degraded" in one["text"])
    }
    assert held == set(ATTEMPTED[number]), outcomes


@pytest.mark.timeout(300)
def test_every_attempt_behind_a_wall_is_held(walled: Walled, told: Told) -> None:
    assert not [one for one in told.values() if one["outcome"] in ("succeeded", "broken")]
    skipped = [one["text"] for one in told.values() if one["outcome"] == "skipped"]
    assert walled.wall == "rootless" or not skipped
    names = [one["name"] for one in walled.api.call("GET", "/v1/secrets")["secrets"]]
    assert not [name for name in names if name.startswith("RT_")]


def test_secret_that_was_let_in_is_found_in_every_place(atoll: TestServer) -> None:
    """The hunt for canaries finds one that is there: exposed by its owner's word."""
    with api_of(atoll) as api:
        box = api.create(name="opened")["sandbox_id"]
        body = {"value": OPENED, "kind": "env", "env": "OPENED", "broker_protected": False}
        api.call("PUT", "/v1/secrets/OPENED", json=body)
        program = archive({"canary": mask_value(OPENED), "mode": "limited"})
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
