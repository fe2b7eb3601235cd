"""What a command leaves running lives on, is shown, and ends when asked: behind every wall."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_docker import server_on
from tests.e2e.walls.test_rootless import person
from tests.peers.api import Api, api_of, until
from tests.peers.docker_daemon import docker_daemon, why_not

DOCKER = [
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]
WALLS = [
    pytest.param("root", marks=pytest.mark.root),
    pytest.param("rootless", marks=pytest.mark.slow),
    pytest.param("docker", marks=[*DOCKER, pytest.mark.slow]),
]


@contextmanager
def wall(name: str) -> Iterator[tuple[TestServer, str]]:
    """A server, and the profile whose sandboxes stand behind that wall."""
    if name == "docker":
        with docker_daemon() as daemon, server_on(daemon) as server:
            yield server, "small"
    elif name == "rootless":
        with person() as server:
            yield server, "shell"
    else:
        with test_server() as server:
            yield server, "shell"


@pytest.fixture(scope="module", params=WALLS)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[Api, str]]:
    with wall(request.param) as (server, profile), api_of(server) as api:
        yield api, profile


def left(api: Api, sandbox: str) -> list[str]:
    told = api.call("GET", f"/v1/sandboxes/{sandbox}/processes")
    return [each["command"] for each in told["processes"]]


def test_what_a_command_leaves_lives_on_is_shown_and_reaped(place: tuple[Api, str]) -> None:
    api, profile = place
    sandbox = api.create(profile=profile, name="left")["sandbox_id"]
    command = (
        "setsid sleep 1000 & (while echo noise; do sleep 0.1; echo x >> alive; done) & echo up"
    )
    began = time.monotonic()
    ran = api.server.run("exec", sandbox, "--shell", command, timeout=60)
    assert ran.returncode == 0 and "up\n" in ran.stdout, ran.stderr
    assert time.monotonic() - began < 50
    until(
        lambda: api.server.run("info", sandbox).stdout,
        lambda shown: "left running  sleep 1000 (pid " in shown,
    )
    lines = int(api.run(sandbox, "wc -l < alive || echo 0").split()[-1])
    until(lambda: int(api.run(sandbox, "wc -l < alive").split()[-1]), lambda n: n > lines + 3)
    timed = api.server.run(
        *("exec", sandbox, "--timeout", "1s", "--shell", "setsid sleep 4321 & sleep 1000")
    )
    assert timed.returncode == 124
    assert "sleep 1000" in left(api, sandbox) and "sleep 4321" not in left(api, sandbox)
    assert api.server.run("exec", sandbox, "--reap", "--shell", "sleep 555 &").returncode == 0
    assert "sleep 555" not in left(api, sandbox) and "sleep 1000" in left(api, sandbox)
    assert api.server.run("exec", sandbox, "--reap").returncode == 0
    told = json.loads(api.server.run("info", sandbox, "--json").stdout)
    assert told["left_running"] == []
    api.act(sandbox, "destroy")


def test_stop_ends_what_was_left(place: tuple[Api, str]) -> None:
    api, profile = place
    sandbox = api.create(profile=profile, name="stops")["sandbox_id"]
    api.run(sandbox, "setsid sleep 1000 >/dev/null 2>&1 &")
    # `setsid` is seen by its own name until it has become `sleep`.
    until(lambda: left(api, sandbox), lambda names: names == ["sleep 1000"])
    api.act(sandbox, "stop")
    api.act(sandbox, "start")
    assert left(api, sandbox) == []
    api.act(sandbox, "destroy")


def test_runtime_tells_what_it_takes_where_groups_count_it(place: tuple[Api, str]) -> None:
    api, profile = place
    sandbox = api.create(profile=profile, name="counted")["sandbox_id"]
    usage = api.call("GET", f"/v1/sandboxes/{sandbox}/processes")["runtime"]
    degraded = api.sandbox(sandbox)["isolation"]["degraded"]
    if any(each.startswith("runtime:") for each in degraded):
        assert usage is None
    else:
        assert 2**20 < usage["memory_bytes"] < usage["most_memory_bytes"] == 512 * 2**20
        assert 1 <= usage["tasks"] < usage["most_tasks"] == 96
        shown = api.server.run("info", sandbox, timeout=60).stdout
        assert "of 512 MiB" in shown and "of 96 tasks" in shown, shown
    api.act(sandbox, "destroy")
