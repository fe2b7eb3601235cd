"""A whole Atoll on a real Docker daemon: tests of crashes run unchanged, and its own. Those of
`tests/e2e/waiting/test_kept_in_containers.py` are run by `make test-backends`."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.servers import emptied
from tests.e2e.test_crashes import (
    test_control_plane_killed_while_a_terminal_prints_costs_no_byte,
    test_destroyed_sandbox_leaves_nothing_on_the_machine,
    test_killed_runtime_fails_its_sandbox_within_two_seconds_and_leaves_nothing,
    test_killed_zygote_is_said_and_the_next_start_cleans_up,
    test_sandboxes_nobody_has_written_down_are_ended_at_the_start,
    test_stop_and_start_keep_workspace_and_agent_state,
)
from tests.e2e.waiting.test_sleep import (
    asleep,
    test_command_wakes_it_and_finds_its_files,
    test_terminal_comes_back_with_what_it_showed,
)
from tests.e2e.waiting.test_snapshots import (
    test_copies_are_told_apart_inside_and_told_that_they_began_anew,
    test_forks_have_the_files_and_are_somebody_else,
    test_sandbox_comes_back_as_it_was,
)
from tests.peers.api import Api, until
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon, why_not
from tests.peers.remains import pids_of, remains, uids_of

__all__ = [
    "asleep",
    "test_command_wakes_it_and_finds_its_files",
    "test_control_plane_killed_while_a_terminal_prints_costs_no_byte",
    "test_copies_are_told_apart_inside_and_told_that_they_began_anew",
    "test_destroyed_sandbox_leaves_nothing_on_the_machine",
    "test_forks_have_the_files_and_are_somebody_else",
    "test_killed_runtime_fails_its_sandbox_within_two_seconds_and_leaves_nothing",
    "test_killed_zygote_is_said_and_the_next_start_cleans_up",
    "test_sandbox_comes_back_as_it_was",
    "test_sandboxes_nobody_has_written_down_are_ended_at_the_start",
    "test_stop_and_start_keep_workspace_and_agent_state",
    "test_terminal_comes_back_with_what_it_showed",
]

pytestmark = [
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]

BOUNDED = ("memory", "pids", "cpu", "disk")
SHORT_LIFE = "ttl: {default: 30s, max: 1h, retention: 1h}\n"
PROFILE = "id: profile.{name}\nversion: '1.0.0'\nextension: ext.docker\nimage: {image}\n"


class DockerApi(Api):
    """Creates in containers unless told otherwise."""

    def create(self, **body: Any) -> dict[str, Any]:
        return super().create(**{"profile": "small", **body})


@pytest.fixture(scope="module")
def daemon() -> Iterator[DockerDaemon]:
    with docker_daemon() as running:
        yield running


@contextmanager
def server_on(daemon: DockerDaemon) -> Iterator[TestServer]:
    env = {"ATOLL_EXTENSIONS": "namespaces,docker", "ATOLL_DOCKER_HOST": daemon.host}
    with test_server(env, start=False) as made:
        add_profile(made, "small", IMAGE)
        for name in ("short", "brief"):
            add_profile(made, name, IMAGE, SHORT_LIFE)
        made.start()
        yield made
        made.down()
        assert daemon.containers() == []


@pytest.fixture(scope="module")
def standing(daemon: DockerDaemon) -> Iterator[TestServer]:
    with server_on(daemon) as made:
        yield made


@pytest.fixture
def server(standing: TestServer, daemon: DockerDaemon) -> Iterator[TestServer]:
    yield standing
    emptied(standing)
    assert daemon.containers() == []


@pytest.fixture
def atoll(server: TestServer) -> TestServer:
    """The same, for a person with a home of their own."""
    own = server.home.parent / "own"
    own.mkdir(exist_ok=True)
    server.env = {**server.env, "HOME": str(own)}
    return server


@pytest.fixture
def usual() -> tuple[str, ...]:
    return ("--profile", "small")


@pytest.fixture
def lone(daemon: DockerDaemon) -> Iterator[TestServer]:
    with server_on(daemon) as made:
        yield made


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    made = DockerApi(server)
    yield made
    made.client.close()


@pytest.fixture
def api_of_lone(lone: TestServer) -> Iterator[Api]:
    made = DockerApi(lone)
    yield made
    made.client.close()


def add_profile(server: TestServer, name: str, image: str, more: str = "") -> None:
    folder = server.home / "profiles"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    (folder / f"{name}.yaml").write_text(PROFILE.format(name=name, image=image) + more)
    (folder / f"{name}.yaml").chmod(0o644)


def test_sandbox_says_what_its_wall_is_and_what_it_lacks(server: TestServer, api: Api) -> None:
    told = api.create()
    wall = api.sandbox(told["sandbox_id"])["isolation"]
    assert (wall["mechanism"], wall["level"]) == ("docker", "container")
    assert not any(each.startswith(BOUNDED) for each in wall["degraded"]), wall
    beside = Api.create(api)  # the other wall still stands
    assert api.sandbox(beside["sandbox_id"])["isolation"]["mechanism"] == "bubblewrap"
    doctor = server.run("doctor", "--json")
    assert "answers at" in doctor.stdout, doctor.stdout + doctor.stderr


def test_sandbox_stands_where_it_was_asked_to(server: TestServer, repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "sub" / "x").write_text("x")
    for words in (
        ("add", "."),
        ("-c", "user.name=T", "-c", "user.email=t@e", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    made = server.run(
        *("new", ".", "work", "--profile", "small", "--name", "at", "--wd", "sub", "--detach"),
        cwd=repository,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert server.run("exec", "at", "--", "sh", "-c", "pwd").stdout == "/workspace/sub\n"


def test_workspace_that_nobody_may_see_is_empty(server: TestServer, api: Api) -> None:
    place = server.home / "profiles" / "blind.yaml"
    place.write_text(PROFILE.format(name="blind", image=IMAGE) + "workspace: {access: none}\n")
    sandbox = api.create(profile="blind")["sandbox_id"]
    assert (
        api.run(sandbox, "ls -A /workspace; grep -c ' /workspace ext4' /proc/self/mounts; true")
        == "0\n"
    )


def test_folder_of_the_host_is_shown_as_it_was_asked_for(
    server: TestServer, tmp_path: Path
) -> None:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(f"of {name}\n")
    (tmp_path / "out").chmod(0o777)
    mounts = (f"{tmp_path}/in:/mnt/in", f"{tmp_path}/out:/data/out:rw")
    made = server.run(
        *("new", "--detach", "--name", "mnt", "--profile", "small"),
        *(word for mount in mounts for word in ("--mount", mount)),
    )
    assert made.returncode == 0, made.stdout + made.stderr
    line = "cat /mnt/in/f /data/out/f; echo new > /data/out/n; touch /mnt/in/n || echo refused"
    assert server.run("exec", "mnt", "--", "sh", "-c", line).stdout == "of in\nof out\nrefused\n"
    assert (tmp_path / "out" / "n").read_text() == "new\n"
    assert not (tmp_path / "in" / "n").exists()


def test_new_takes_a_container_that_waits(
    server: TestServer, api: Api, daemon: DockerDaemon, repository: Path
) -> None:
    pool = "/v1/pools/small"
    api.call("PUT", pool, json={"min": 1, "max": 1})
    try:
        until(lambda: api.call("GET", pool), lambda told: told["ready"] == 1)
        (waiting,) = daemon.containers()
        made = server.run(
            *("new", ".", "work", "--profile", "small", "--name", "taken", "--detach"),
            *("--env", "WHO=somebody"),
            cwd=repository,
        )
        assert made.returncode == 0, made.stdout + made.stderr
        sandbox = api.sandbox("taken")["sandbox_id"]
        assert waiting.endswith(sandbox)
        line = "cat README.md; hostname; cat /etc/hostname; echo $WHO"
        assert api.run(sandbox, line) == "# project\ntaken\ntaken\nsomebody\n"
        line = "touch /.atoll/repos/x 2> /dev/null || echo refused"
        assert api.run(sandbox, line) == "refused\n"
        bounds = daemon.run("inspect", "-f", "{{.HostConfig.NanoCpus}}", waiting)
        assert int(bounds) > 0  # it had no such limit before
        until(lambda: api.call("GET", pool), lambda told: told["ready"] == 1)
        (other,) = set(daemon.containers()) - {waiting}
        daemon.run("kill", other)
        until(lambda: set(daemon.containers()), lambda names: other not in names)
        until(lambda: api.call("GET", pool), lambda told: told["ready"] == 1)
    finally:
        api.client.delete(pool)
    until(lambda: len(daemon.containers()), lambda count: count == 1)


def test_files_go_in_and_out_of_a_container(api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    path = f"/v1/sandboxes/{sandbox}/files"
    answer = api.client.put(f"{path}/content", params={"path": "a.txt"}, content=b"hello")
    assert answer.is_success, answer.text
    assert api.run(sandbox, "cat a.txt") == "hello"
    api.run(sandbox, "echo back > b.txt; ln -s /etc/passwd leak")
    got = api.client.get(f"{path}/content", params={"path": "b.txt"})
    assert got.content == b"back\n"
    assert not api.client.get(f"{path}/content", params={"path": "leak"}).is_success


def test_repository_goes_in_and_its_commits_come_home(server: TestServer, repository: Path) -> None:
    made = server.run(
        *("new", ".", "work", "--profile", "small", "--name", "repo", "--detach"), cwd=repository
    )
    assert made.returncode == 0, made.stdout + made.stderr
    line = "cat README.md && echo done > new.txt && git add new.txt && git commit -qm inside"
    ran = server.run("exec", "repo", "--", "sh", "-c", line)
    assert (ran.returncode, ran.stdout) == (0, "# project\n"), ran.stderr
    pulled = server.run("pull", "repo", cwd=repository)
    assert pulled.returncode == 0, pulled.stdout + pulled.stderr
    git = ["git", "-C", str(repository), "log", "--all", "--format=%s"]
    assert "inside" in subprocess.run(git, capture_output=True, text=True).stdout


def test_image_of_an_archive_is_taken_in_once(
    server: TestServer, api: Api, daemon: DockerDaemon
) -> None:
    shutil.copyfile(daemon.folder / "small.tar", server.home / "images" / "small.tar")
    (server.home / "images" / "small.tar").chmod(0o644)
    add_profile(server, "tar", "archive:small.tar")
    told = api.create(profile="tar")
    assert api.run(told["sandbox_id"], "echo from a tar") == "from a tar\n"
    images = daemon.run("images", "-q", "atoll-archive").split()
    again = api.create(profile="tar")
    assert daemon.run("images", "-q", "atoll-archive").split() == images
    for each in (told, again):
        api.act(each["sandbox_id"], "destroy")
    daemon.run("rmi", "-f", *images)


def test_dockerfile_of_the_home_becomes_a_sandbox_and_its_build_is_in_the_log(
    server: TestServer, api: Api, daemon: DockerDaemon
) -> None:
    place = server.home / "images" / "tools"
    place.mkdir()
    (place / "Dockerfile").write_text(f"FROM {IMAGE}\nENV MADE=here\nRUN echo built > /made\n")
    add_profile(server, "tools", "build:tools")
    sandbox = api.create(profile="tools")["sandbox_id"]
    assert api.run(sandbox, "cat /made; echo $MADE") == "built\nhere\n"
    logged = server.run("logs", sandbox).stdout
    assert "tools: Step 3/3 : RUN echo built > /made" in logged
    assert "was built already" in server.run("image", "build", "tools").stdout
    told = json.loads(server.run("image", "build", "tools", "--again", "--json").stdout)
    assert told["new"] and told["id"].startswith("sha256:")
    (place / "Dockerfile").write_text(f"FROM {IMAGE}\nADD http://127.0.0.1/ /x\n")
    refused = api.client.post("/v1/sandboxes", json={"profile": "tools"}).json()
    assert refused["code"] == "no_route" and "Dockerfile line 2" in refused["detail"], refused
    api.act(sandbox, "destroy")
    removed = server.run("image", "rm", "build:tools", "--yes").stdout
    assert "removed atoll-build/tools:" in removed
    assert daemon.run("images", "-q", "atoll-build/tools") == ""


def test_container_killed_from_outside_fails_its_sandbox_with_a_reason(
    api: Api, daemon: DockerDaemon
) -> None:
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "echo kept > file")
    (name,) = daemon.containers()
    daemon.run("kill", name)
    failed = api.until(sandbox, lambda told: told["state"] == "failed", seconds=10)
    assert failed["reason"]
    until(daemon.containers, lambda names: names == [])
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "kept\n"


def test_daemon_that_dies_costs_no_terminal_and_its_return_is_noticed(
    server: TestServer, api: Api, daemon: DockerDaemon
) -> None:
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "echo kept > file")
    uids = uids_of(server.home)
    daemon.kill()
    try:
        # What stands, stands; what is new is refused with the reason.
        assert api.run(sandbox, "cat file") == "kept\n"
        answer = api.client.post("/v1/sandboxes?wait=ready", json={"profile": "small"})
        told = answer.json()
        assert told.get("state") == "failed" or not answer.is_success, told
        assert "cannot be reached" in json.dumps(told)
    finally:
        daemon.start()  # without live-restore it ends what it finds running
    failed = api.until(sandbox, lambda told: told["state"] == "failed")
    assert failed["reason"]
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "kept\n"
    api.act(sandbox, "destroy")
    until(lambda: pids_of(uids), lambda pids: not pids)


def test_whole_atoll_on_docker_ends_and_leaves_nothing(
    lone: TestServer, api_of_lone: Api, daemon: DockerDaemon
) -> None:
    api_of_lone.create()
    uids = uids_of(lone.home)
    lone.down()
    left = remains(lone.home, uids)
    assert (left.processes, left.mounts, left.loops) == (frozenset(), frozenset(), frozenset())
    assert not left.cgroups and not left.sockets
    assert daemon.containers() == []


def test_runtimes_hold_no_socket_of_the_daemon(
    server: TestServer, api: Api, daemon: DockerDaemon
) -> None:
    sandbox = api.create()["sandbox_id"]
    box = api.box(sandbox)
    status = Path(f"/proc/{box.runtime_pid}/status").read_text()
    assert status.partition("Groups:")[2].split("\n")[0].split() == []
    code = f"import socket; socket.socket(1).connect({str(daemon.folder)!r} + '/d.sock')"
    refused = subprocess.run(
        ["python3", "-c", code], user=box.host_uid, extra_groups=[], capture_output=True, text=True
    )
    assert "PermissionError" in refused.stderr
    os.kill(box.runtime_pid, signal.SIGTERM)


def test_folders_of_the_host_and_accesses_hold_in_a_container(
    server: TestServer, api: Api, repository: Path
) -> None:
    shown = server.home.parent / "shown"
    shown.mkdir(mode=0o755)
    (shown / "f").write_text("of the host\n")
    words = ("--profile", "small", "--detach")
    made = server.run("new", "--name", "mo", "--mount", f"{shown}:/data/in", *words)
    assert made.returncode == 0, made.stderr
    line = "cat /data/in/f; touch /data/in/x 2>/dev/null || echo closed"
    assert api.run("mo", line) == "of the host\nclosed\n"
    refused = server.run("new", "--name", "no", "--mount", "/var/run:/mnt/x", *words)
    assert refused.returncode != 0
    made = server.run("new", ".", "--name", "ro", "--access", "ro", *words, cwd=repository)
    assert made.returncode == 0, made.stderr
    assert api.run("ro", "cat README.md; touch x 2>&1 || true").startswith("# project\ntouch:")
    made = server.run("new", "--name", "ba", "--access", "none", *words)
    assert made.returncode == 0, made.stderr
    assert api.run("ba", "ls -A; touch x && ls") == "x\n"
