"""An installed agent costs a new sandbox nothing; one that is not, or may not be, is refused."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from atoll.testing.server import TestServer, test_server

ROUNDS = 5
MIB = 2**20


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server({"ATOLL_AGENT_CATALOGUE": "codex,opencode,shell"}) as server:
        for version, word in (("0.171.0", "pinned"), ("0.1.0", "older")):
            layer = server.home / "agents" / "codex" / version
            (layer / "bin").mkdir(parents=True)
            (layer / "bin" / "codex").write_text(f"#!/bin/sh\necho {word}\n")
            (layer / "bin" / "codex").chmod(0o755)
            (layer / "large").write_bytes(os.urandom(8 * MIB))
        yield server


def test_agent_that_is_not_installed_is_refused_with_the_command_to_run(
    server: TestServer,
) -> None:
    done = server.run("new", "--agent", "opencode", "--detach")
    assert done.returncode == 2
    assert "atoll agent install opencode" in done.stderr
    assert json.loads(server.run("list", "--json").stdout)["sandboxes"] == []


def test_agent_outside_the_catalogue_is_refused_before_anything_is_made(
    server: TestServer,
) -> None:
    done = server.run("new", "--agent", "claude", "--detach")
    assert done.returncode == 6
    assert "agent_catalogue, which allows codex, opencode, shell" in done.stderr
    assert json.loads(server.run("list", "--json").stdout)["sandboxes"] == []


@pytest.mark.parametrize(("named", "word"), [("codex", "pinned"), ("codex@0.1.0", "older")])
def test_agent_version_that_was_named_is_the_one_inside(
    server: TestServer, named: str, word: str
) -> None:
    made = server.run("new", "--agent", named, "--detach")
    assert made.returncode == 0, made.stderr
    name = made.stdout.strip()
    try:
        assert server.run("exec", name, "--", "codex").stdout == f"{word}\n"
        with client(server) as api:
            opened = api.post(f"/v1/sandboxes/{name}/terminals", json={"agent": named})
        assert opened.status_code == 201, opened.text
        if word == "older":
            stays_until_it_stops(server, name, named)
    finally:
        server.run("destroy", name, "--yes")


def stays_until_it_stops(server: TestServer, name: str, named: str) -> None:
    """A version that is removed stays in a sandbox that runs, and is in no new one."""
    removed = server.run("agent", "remove", named, "--yes")
    assert removed.returncode == 0, removed.stderr
    assert "keep it until they stop" in removed.stdout
    assert server.run("exec", name, "--", "codex").stdout == "older\n"
    with client(server) as api:
        again = api.post(f"/v1/sandboxes/{name}/terminals", json={"agent": named})
        assert again.status_code == 201, again.text
        refused = api.post("/v1/sandboxes", json={"profile": "shell", "agent": named})
        assert (refused.status_code, refused.json()["field"]) == (422, "agent")


def test_installed_agent_adds_no_disk_to_a_create(server: TestServer) -> None:
    with client(server) as api:
        create(api, "codex")
        before = written(server.home)
        for _ in range(ROUNDS):
            create(api, "codex")
        grown = written(server.home) - before
    assert grown / ROUNDS < MIB


def test_home_with_agents_installed_before_the_first_start_is_taken() -> None:
    with test_server(start=False) as server:
        (server.home / "agents" / "codex").mkdir(parents=True)
        (server.home / "presets.json").write_text("{}")
        server.start()
        # The control plane serves sandboxes: it reads programs and may exchange none.
        assert (server.home / "agents").stat().st_uid == os.geteuid()
        listed = json.loads(server.run("agent", "list", "--json").stdout)
        assert "codex" in [agent["name"] for agent in listed["agents"]]


def test_start_folder_is_where_commands_and_terminals_begin(
    server: TestServer, repository: Path
) -> None:
    (repository / "app").mkdir()
    (repository / "app" / "a.txt").write_text("a\n")
    git = ["git", "-C", str(repository), "-c", "user.name=T", "-c", "user.email=t@e.invalid"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "app"], check=True)
    made = server.run("new", str(repository), "--wd", "app", "--detach")
    assert made.returncode == 0, made.stderr
    name = made.stdout.strip()
    assert server.run("exec", name, "--", "ls").stdout == "a.txt\n"
    with client(server) as api:
        assert api.get(f"/v1/sandboxes/{name}").json()["cwd"] == "/workspace/app"
        opened = api.post(f"/v1/sandboxes/{name}/terminals", json={})
        assert opened.json()["cwd"] == "/workspace/app"
    server.run("exec", name, "--cwd", "/workspace", "--", "rm", "-r", "app")
    assert server.run("stop", name).returncode == 0
    assert server.run("start", name).returncode == 0
    assert server.run("exec", name, "--", "pwd").stdout == "/workspace/app\n"
    server.run("destroy", name, "--yes")


def test_start_folder_that_is_not_there_is_told(server: TestServer) -> None:
    made = server.run("new", "--wd", "nowhere", "--name", "lost", "--detach")
    assert made.returncode == 1
    assert "/workspace/nowhere is no folder of this sandbox" in made.stderr
    server.run("destroy", "lost", "--yes")


def client(server: TestServer) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.token}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=60)


def create(api: httpx.Client, agent: str) -> None:
    made = api.post("/v1/sandboxes", params={"wait": "ready"}, json={"agent": agent})
    assert made.json()["state"] == "ready", made.text


def written(folder: Path) -> int:
    """Bytes that files below take up on the disk, sparse ones as far as they are filled."""
    total = 0
    for place, _names, files in os.walk(folder):
        for name in files:
            total += (Path(place) / name).lstat().st_blocks * 512
    return total
