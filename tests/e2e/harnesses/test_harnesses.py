"""The three harnesses of `examples/harnesses`, each as a program of its own against a real server,
with its call as it is written."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.api import Api, api_of, until
from tests.peers.docker_daemon import IMAGE, DockerDaemon, why_not
from tests.peers.git_server import GitServer, git_server
from tests.peers.git_tree import bare_copy, new_tree
from tests.peers.machines.ssh_server import missing, throwaway_ssh_server
from tests.places import ROOT

EXAMPLES = ROOT / "examples" / "harnesses"
NOT_HERE = missing() or why_not() or ("" if shutil.which("docker-compose") else "no compose here")
KEYS = '[anthropic]\nkey = "sk-ant-nothing-but-a-test"\nbase_url = "http://127.0.0.1:9"\n'
VALUE = "sk-canary-harness-93b1c5d7"
WORDS = "Build the lighthouse, then light it."
# It speaks Claude's protocol: it keeps what it is told, writes a program and ends its turn.
CLAUDE = r"""#!/bin/sh
while read -r line; do
  case $line in
  *'"type":"user"'*)
    printf '%s\n' "$line" >> heard
    env > seen
    echo 'echo lit' > light.sh
    echo '{"type":"result","subtype":"success","is_error":false,"duration_ms":1}' ;;
  esac
done
"""
STACK = f"""\
services:
  web:
    image: {IMAGE}
    init: true
    command: python3 -m http.server --directory /usr/share 8000
  agent:
    image: {IMAGE}
    depends_on: [web]
"""

USUAL = ("sandbox.read", "sandbox.create", "sandbox.manage", "exec.use")
MORE = {
    "glas_harness": ("file.read", "file.write"),
    "wise_validator": (),
    "snuggle_inventor": ("agent.use", "event.read"),
}

pytestmark = pytest.mark.timeout(400)


@dataclass
class Place:
    """A server and a forge with `o/r`."""

    server: TestServer
    forge: GitServer
    api: Api

    @property
    def url(self) -> str:
        return f"{self.forge.url}/o/r"

    async def run(self, example: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a harness as its people do, with a token that may do no more than its page says."""
        token = {"name": example, "capabilities": [*USUAL, *MORE[example]], "ttl": "1h"}
        made = await self.call("POST", "/auth/pat", json=token)
        known = {"ATOLL_URL": self.server.url, "ATOLL_TOKEN": made["token"]}
        return await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-P", str(EXAMPLES / f"{example}.py"), *words],
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **known},
            capture_output=True,
            text=True,
            check=False,
        )

    async def call(self, method: str, path: str, **more: Any) -> Any:
        return await asyncio.to_thread(self.api.call, method, path, **more)

    async def refused(self, **body: Any) -> dict[str, Any]:
        """The problem of a create that makes nothing."""
        answer = await asyncio.to_thread(self.api.client.post, "/v1/sandboxes", json=body)
        problem: dict[str, Any] = answer.json()
        assert answer.status_code == 422, problem
        query = {name: value for name, value in body["consumer"].items() if name != "actor"}
        assert (await self.call("GET", "/v1/sandboxes", params=query))["sandboxes"] == []
        return problem


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server(keys=KEYS, start=False) as made:
        programs = made.home / "agents" / "claude-code" / "2.1.332" / "bin"
        programs.mkdir(parents=True)
        (programs / "claude").write_text(CLAUDE)
        (programs / "claude").chmod(0o755)
        (made.home / "config.toml").write_text("allow_loopback_remotes = true\n")
        made.start()
        yield made


@asynccontextmanager
async def place_of(server: TestServer, folder: Path) -> AsyncIterator[Place]:
    tree = new_tree(folder / "work")
    tree.commit("docs/job.md", WORDS)
    tree.commit("e2e/compose.yaml", STACK)
    tree.git("tag", "v1")
    bare_copy(tree, folder / "srv" / "o" / "r.git")
    async with git_server(folder / "srv") as forge:
        with api_of(server) as api:
            yield Place(server, forge, api)


@pytest.fixture
async def place(server: TestServer, tmp_path: Path) -> AsyncIterator[Place]:
    async with place_of(server, tmp_path) as made:
        yield made


@pytest.mark.parametrize("example", MORE)
def test_harness_is_a_program_of_at_most_100_lines(example: str) -> None:
    text = (EXAMPLES / f"{example}.py").read_text()
    assert len(text.splitlines()) <= 100


async def test_glas_harness_runs_tools_on_its_own_folder(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.txt").write_text("one\n")
    tools = ("tr o t < src/a.txt > b.txt", "cat b.txt; pwd; exit 7", "id -u")
    done = await place.run("glas_harness", "s-1", str(folder), *tools)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["exit_code"] for result in results] == [0, 7, 0]
    assert (folder / "b.txt").read_text() == "tne\n", "what changed is brought back"
    query = {"harness": "glas-harness", "session_id": "s-1"}
    (box,) = (await place.call("GET", "/v1/sandboxes", params=query))["sandboxes"]
    assert (box["state"], box["reason"]) == ("expired", "Its consumer's session ended.")
    assert (box["profile"]["id"], box["scope"]) == ("profile.agent-dev", "session")
    assert box["workspace"] == {"mode": "mirror", "access": "rw"}
    (usage,) = (await place.call("GET", "/v1/consumers/usage", params=query))["consumers"]
    assert (usage["sandboxes"], usage["running"]) == (1, 0)
    again = await place.call("POST", "/v1/consumers/end", json=query)
    assert again == {"sandboxes": []}


async def test_folder_of_glas_harness_takes_nothing_that_leads_out_of_it(
    place: Place, tmp_path: Path
) -> None:
    folder, outside = tmp_path / "mine", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("kept\n")
    (folder / "way").symlink_to(outside)
    hostile = "mkdir way && echo taken > way/kept && ln -s /etc/passwd out && echo x > in"
    done = await place.run("glas_harness", "s-2", str(folder), hostile)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exit_code"] == 0
    assert (outside / "kept").read_text() == "kept\n"
    assert sorted(path.name for path in folder.iterdir()) == ["in", "way"]


@pytest.mark.parametrize("scope", ["session", "agent", "shared"])
@pytest.mark.parametrize(
    "workspace",
    [
        {"mode": "mirror", "access": "rw"},
        {"mode": "remote", "access": "none"},
        {"mode": "remote", "access": "ro"},
        {"mode": "remote", "access": "rw"},
    ],
    ids=lambda workspace: "-".join(workspace.values()),
)
async def test_every_scope_and_workspace_of_glas_harness_acts(
    place: Place, scope: str, workspace: dict[str, str]
) -> None:
    session = f"{scope}-{workspace['mode']}-{workspace['access']}"
    end = {"harness": "glas-harness", "session_id": session}
    body = {
        "profile": "profile.agent-dev",
        "scope": scope,
        "workspace": workspace,
        "consumer": {"actor": "agt", **end},
    }
    made = await place.call("POST", "/v1/sandboxes?wait=ready", json=body)
    assert made["state"] == "ready", made
    assert made["reachability"] and made["poll_url"] == f"/v1/sandboxes/{made['sandbox_id']}"
    writes = {"shell": "touch /workspace/written"}
    written = await place.call("POST", f"{made['poll_url']}/exec", json=writes)
    assert (written["exit_code"] == 0) is (workspace["access"] != "ro")
    again = await place.call("POST", "/v1/sandboxes?wait=ready", json=body)
    assert (again["sandbox_id"] == made["sandbox_id"]) is (scope == "agent")
    ended = await place.call("POST", "/v1/consumers/end", json=end)
    ids = {box["sandbox_id"] for box in ended["sandboxes"]}
    assert ids == ({made["sandbox_id"], again["sandbox_id"]} if scope == "session" else set())


async def test_snuggle_inventor_generates_by_instructions_it_named(place: Place) -> None:
    secret = {"name": "BUILD_TOKEN", "value": VALUE, "hosts": ["a.example"], "env": "BUILD_TOKEN"}
    await place.call("POST", "/v1/secrets", json=secret)
    ref = f"{place.url}@v1:docs/job.md"
    check = f"grep -q '{WORDS}' heard && test \"$(sh light.sh)\" = lit && cat seen"
    words = ("job-1", ref, "claude-code", check, "BUILD_TOKEN")
    done = await place.run("snuggle_inventor", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the agent is done; the check ended with 0" in done.stdout
    query = {"harness": "snuggle-inventor", "job_id": "job-1"}
    (box,) = (await place.call("GET", "/v1/sandboxes", params=query))["sandboxes"]
    assert (box["state"], box["profile"]["id"]) == ("active", "profile.build")
    setup = box["setup_metadata"]
    assert (setup["instructions"], setup["secret_refs"]) == (WORDS, ["BUILD_TOKEN"])
    assert until(lambda: place.api.sandbox(box["sandbox_id"])["setup_metadata"]["instructed"], bool)
    seen = await asyncio.to_thread(place.api.run, box["sandbox_id"], "cat seen; env")
    assert seen.count("BUILD_TOKEN=") == 2 and VALUE not in seen

    # A job whose code is not good ends, and leaves nothing that runs.
    bad = await place.run("snuggle_inventor", "job-2", ref, "claude-code", "false")
    assert bad.returncode == 1
    assert "the check ended with 1" in bad.stdout and " expired" in bad.stdout


@pytest.mark.parametrize(
    ("setup", "field", "code"),
    [
        ({"instructions_ref": "~@v1:none.md"}, "instructions_ref", "unresolved_reference"),
        ({"instructions_ref": "~@v2:docs/job.md"}, "instructions_ref", "unresolved_reference"),
        ({"instructions_ref": "~@v1:../../etc/shadow"}, "instructions_ref", "invalid_path"),
        ({"instructions_ref": "~@--upload-pack=id:docs/job.md"}, "instructions_ref", "invalid"),
        ({"instructions_ref": "repo:docs/job.md"}, "instructions_ref", "invalid"),
        ({"secret_refs": ["NOBODYS"]}, "secret_refs", "unknown_secret"),
    ],
)
async def test_reference_of_snuggle_inventor_that_does_not_resolve_makes_nothing(
    place: Place, setup: dict[str, Any], field: str, code: str
) -> None:
    filled = {
        name: value.replace("~", place.url) if isinstance(value, str) else value
        for name, value in setup.items()
    }
    consumer = {"actor": "agt", "harness": "snuggle-inventor", "job_id": "job-3"}
    problem = await place.refused(profile="profile.build", setup_metadata=filled, consumer=consumer)
    assert (problem["field"], problem["code"]) == (f"setup_metadata.{field}", code)


async def test_end_while_sandboxes_are_being_made_ends_them_all(place: Place) -> None:
    consumer = {"actor": "atm", "harness": "wise-validator", "run_id": "many"}
    body = {"profile": "profile.shell", "scope": "session", "consumer": consumer}
    await asyncio.gather(*(place.call("POST", "/v1/sandboxes", json=body) for _ in range(4)))
    end = {"harness": "wise-validator", "run_id": "many"}
    ends = await asyncio.gather(
        *(place.call("POST", "/v1/consumers/end", json=end) for _ in range(3))
    )
    ended = [box["sandbox_id"] for told in ends for box in told["sandboxes"]]
    boxes = (await place.call("GET", "/v1/sandboxes", params=end))["sandboxes"]
    assert sorted(ended) == sorted(box["sandbox_id"] for box in boxes)
    for box in boxes:
        over = await place.call("GET", f"{box['poll_url']}?wait=ready")
        assert (over["state"], over["reason"]) == ("expired", "Its consumer's session ended.")
        assert over["ready_at"] is None or over["retained_until"]


@pytest.mark.docker
@pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
async def test_wise_validator_judges_a_stack_of_services(
    daemon: DockerDaemon, tmp_path: Path
) -> None:
    with (
        throwaway_ssh_server(daemon.folder / "d.sock") as box,
        test_server(start=False) as server,
    ):
        (server.home / "config.toml").write_text(
            'extensions = ["namespaces", "compose-ssh"]\nallow_loopback_remotes = true\n'
        )
        server.start()
        async with place_of(server, tmp_path) as place:
            host = {"address": box.address, "name": "box"}
            box.authorize((await place.call("POST", "/v1/hosts", json=host))["authorized_key"])
            ask = (
                "import urllib.request as u; print(u.urlopen('http://web:8000', timeout=9).status)"
            )
            checks = (f'python3 -c "{ask}"', "test -f e2e/compose.yaml", "cat docs/job.md")
            ref = f"{place.url}@v1"
            done = await place.run("wise_validator", "run-1", ref, "repo:e2e", *checks)
            *results, run = map(json.loads, done.stdout.splitlines())
            assert done.returncode == 0, done.stdout + done.stderr
            assert [result["output"] for result in results] == ["200\n", "", WORDS]
            assert (run["passed"], run["sandboxes"], len(run["ended"])) == (True, 1, 1)
            path = f"/v1/sandboxes/{run['ended'][0]}"
            over = await place.call("GET", path)
            assert (over["state"], over["extension"]) == ("expired", "ext.compose-ssh")
            until(daemon.containers, lambda left: left == [])

            bad = await place.run("wise_validator", "run-2", ref, "repo:e2e", "exit 3")
            assert (bad.returncode, json.loads(bad.stdout.splitlines()[-1])["passed"]) == (1, False)
            for repository, bundle, field in (
                (f"{place.url}@v2", "repo:e2e", "inputs.repo_ref"),
                (ref, "repo:docs", "inputs.compose_bundle_ref"),
                (ref, "repo:../../etc", "inputs.compose_bundle_ref"),
                (f"{place.url}@--upload-pack=id", "repo:e2e", "inputs.repo_ref"),
            ):
                none = await place.run("wise_validator", "run-3", repository, bundle, "true")
                told = json.loads(none.stdout)
                assert (none.returncode, told["field"]) == (1, field), told
            query = {"harness": "wise-validator", "run_id": "run-3"}
            assert (await place.call("GET", "/v1/sandboxes", params=query))["sandboxes"] == []
