"""The services of Atoll in `deploy/compose.yaml`, with the privileges that the file gives them,
on a real daemon and a real PostgreSQL."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.wiring.doctor.interpreter import FAULTS
from tests.peers.containers.compose import DEPLOY, START, Stack, import_image
from tests.peers.databases.postgres import PostgresServer
from tests.peers.docker_daemon import docker_daemon, why_not

INTERPRETER = {f"python: {fault.part}" for fault in FAULTS}
"""What a real image's Python decides; here it is this machine's."""

pytestmark = [
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]


@pytest.fixture
def stack(tmp_path: Path, postgres: PostgresServer) -> Iterator[Stack]:
    subprocess.run([DEPLOY / "prepare", "atoll.example.com", tmp_path], check=True)
    name = postgres.empty()
    (tmp_path / "secrets/database_url").write_text(postgres.url(name))
    (tmp_path / "home").mkdir()
    with docker_daemon() as daemon:
        import_image(daemon, tmp_path)
        binds = (f"{postgres.folder}:{postgres.folder}",)
        made = Stack(daemon, tmp_path, binds=binds, without=frozenset({"ATOLL_BUS_URL_FILE"}))
        try:
            yield made
        finally:
            made.down()
    postgres.drop(name)


def test_stack_keeps_sandboxes_over_the_end_of_a_control_plane(stack: Stack) -> None:
    for name in ("sandboxes", "atoll", "atoll-two"):
        stack.up(name)
    stack.atoll("atoll", "new", "--profile", "shell", "--name", "box", "--detach")
    told = stack.atoll("atoll", "info", "box")
    # Bounded and walled as on a machine of its own.
    assert "container (bubblewrap, host uid" in told and "missing" not in told
    line = "id -u; echo kept > file"
    assert stack.atoll("atoll", "exec", "box", "--", "sh", "-c", line) == "1000\n"

    status = stack.atoll("atoll", "db", "status")
    assert "postgresql at " in status and "(up to date)" in status

    stack.daemon.run("kill", "atoll")
    stack.started.remove("atoll")
    assert stack.atoll("atoll-two", "exec", "box", "--", "cat", "/workspace/file") == "kept\n"
    # The other one leads by now, or soon.
    stack.atoll("atoll-two", "new", "--profile", "shell", "--name", "second", "--detach")
    stack.daemon.run("start", "atoll")
    stack.started.append("atoll")
    stack.wait("atoll")
    assert "box" in stack.atoll("atoll", "list")

    done = stack.exec("atoll", START, "run", "doctor", "--public", "--json")
    found = {one["name"]: one["level"] for one in json.loads(done.stdout)["findings"]}
    assert found["memory group"] == "ok"
    assert {name for name, level in found.items() if level == "fail"} - INTERPRETER == {"auth"}

    metrics = ("curl", "-sS", "-H", "Authorization: Bearer WRONG", "http://127.0.0.1:7680/metrics")
    token = (stack.folder / "secrets/metrics_token").read_text()
    assert stack.exec("atoll", *metrics).stdout.startswith("{")
    right = [word.replace("WRONG", token) for word in metrics]
    assert "atoll_build_info" in stack.exec("atoll", *right).stdout
