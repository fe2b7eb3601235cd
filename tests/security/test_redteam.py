"""The program that attacks an installation, against this one: behind every wall nothing succeeds,
and where there is no wall, or one is opened on purpose, it says so."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atoll.testing.redteam.pack import archive, disguised
from atoll.testing.server import TestServer, test_server
from tests.e2e.test_rootless import person
from tests.peers.api import api_of
from tests.peers.docker_daemon import IMAGE, docker_daemon, why_not

NOBODY = 1_899_999_997
OPENED = "canary-opened-2Hk9Wq4Zt7"
PROFILE = """
id: profile.attacked
version: "1.0.0"
{backend}
resources: {{cpu: 1.5, memory_mb: 256, pids: 96, ptys: 12, workspace_mb: 64}}
"""
BITES = {
    "hold capabilities, or a way to privilege",
    "make denied system calls",
    "open sockets past the network namespace",
    "type into a terminal by ioctl",
    "leave without a door",
    "take the doors' ports",
}
"""Attempts that succeed for anybody who is behind no wall."""


@contextmanager
def server_of(wall: str) -> Iterator[tuple[TestServer, str]]:
    """A server with this wall, and what a profile says to get it."""
    if wall == "rootless":
        with person() as server:
            yield server, "extension: ext.namespaces"
    elif wall == "root":
        with test_server() as server:
            yield server, "extension: ext.namespaces"
    else:
        with docker_daemon() as daemon:
            env = {"ATOLL_EXTENSIONS": "namespaces,docker", "ATOLL_DOCKER_HOST": daemon.host}
            with test_server(env) as server:
                yield server, f"extension: ext.docker\nimage: {IMAGE}"


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
@pytest.mark.parametrize(
    "wall",
    [
        pytest.param("root", marks=pytest.mark.root),
        "rootless",
        pytest.param("docker", marks=[pytest.mark.root, pytest.mark.docker]),
    ],
)
def test_nothing_that_is_tried_behind_a_wall_succeeds(wall: str) -> None:
    if wall != "rootless" and os.geteuid() != 0:
        pytest.skip("needs root")
    if wall == "docker" and why_not():
        pytest.skip(f"no Docker daemon: {why_not()}")
    with server_of(wall) as (server, backend), api_of(server) as api:
        api.call("PUT", "/v1/profiles/attacked", content=PROFILE.format(backend=backend))
        done = redteam(server, "--sandbox", "attacked", "--abuse", "--json")
        told = [json.loads(line) for line in done.stdout.splitlines()]
        bad = [one for one in told if one["outcome"] in ("succeeded", "broken")]
        assert not bad
        assert done.returncode == 0, done.stderr
        assert len(told) > 50
        # Only what a sandbox says of itself that it lacks may be left out.
        skipped = [one["text"] for one in told if one["outcome"] == "skipped"]
        assert all("degraded" in text for text in skipped), skipped
        assert wall == "rootless" or not skipped
        left = api.call("GET", "/v1/sandboxes")["sandboxes"], api.call("GET", "/v1/secrets")
        assert left == ([], {"secrets": []})


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
