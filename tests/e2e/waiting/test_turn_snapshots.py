"""Snapshots after turns of scripted agents, on real disks: what is kept, and what a kill, a sleep
and a destroy leave of it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.api import Api, api_of, until

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="snapshots need root"),
]

KEPT = 2
AGENT = "acp:writer"
NPM = """#!/bin/sh
for last; do :; done
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/.bin" "$2/node_modules/writer"
echo '{"version":"1.0.0","bin":{"writer":"x"}}' > "$2/node_modules/writer/package.json"
cp "$0.agent" "$2/node_modules/.bin/writer"; chmod 755 "$2/node_modules/.bin/writer"
"""
WRITER = '''#!/usr/bin/python3
"""An agent that writes what it is told to a file, and says so: one turn."""
import json, sys
def send(**more): print(json.dumps({"jsonrpc": "2.0", **more}), flush=True)
for line in sys.stdin:
    told = json.loads(line); method = told.get("method")
    if method == "initialize": send(id=told["id"], result={"protocolVersion": 1})
    if method == "session/new": send(id=told["id"], result={"sessionId": "s"})
    if method == "session/prompt":
        words = "".join(part.get("text", "") for part in told["params"]["prompt"])
        with open("/workspace/" + words.split()[0], "a") as file: file.write(words + "\\n")
        send(method="session/update", params={"sessionId": "s", "update": {
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done."}}})
        send(id=told["id"], result={"stopReason": "end_turn"})
'''


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    program = tmp_path_factory.mktemp("tools") / "npm"
    program.write_text(NPM)
    program.chmod(0o755)
    program.with_name("npm.agent").write_text(WRITER)
    with test_server() as server:
        path = f"{program.parent}:{os.environ['PATH']}"
        added = server.run(
            *("agent", "add", AGENT, "--npm", "writer", "--state", ".writer"),
            env={**os.environ, "ATOLL_HOME": str(server.home), "PATH": path},
        )
        assert added.returncode == 0, added.stderr
        yield server


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as api:
        profile = {
            "id": "profile.turns",
            "version": "1.0.0",
            "extension": "ext.namespaces",
            "checkpoint": {"on": ["turn"], "keep": KEPT},
        }
        api.call("PUT", "/v1/profiles/turns", json=profile)
        yield api


def told(api: Api, sandbox: str, words: str) -> str:
    """Begin an agent with its first prompt. Returns its terminal's path."""
    begun = api.call(
        "POST",
        f"/v1/sandboxes/{sandbox}/agents",
        json={"agent": AGENT, "mode": "machine", "prompt": words},
    )
    return f"/v1/sandboxes/{sandbox}/terminals/{begun['id']}"


def ended_turns(api: Api, sandbox: str) -> int:
    """The turns that ended, as the log says."""
    last: dict[str, int] = {}
    for event in api.events(sandbox):
        if event["event_type"] == "agent.status":
            last[event["payload"]["id"]] = event["payload"]["turns"]
    return sum(last.values())


def outcomes(api: Api, sandbox: str) -> list[str]:
    """What became of snapshots of a sandbox, in order."""
    ends = ("snapshot.taken", "snapshot.failed")
    return [one["event_type"] for one in api.events(sandbox) if one["event_type"] in ends]


def kept(api: Api, sandbox: str) -> list[dict[str, Any]]:
    """The snapshots of a sandbox, newest first."""
    listed: list[dict[str, Any]] = api.call("GET", f"/v1/snapshots?sandbox={sandbox}")["snapshots"]
    return listed


def on_disk(server: TestServer) -> set[str]:
    folder = Path(server.home) / "boxes" / "snapshots"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def await_outcome(api: Api, sandbox: str, count: int) -> None:
    until(lambda: outcomes(api, sandbox), lambda ends: len(ends) >= count)


def await_turn(api: Api, sandbox: str) -> None:
    until(lambda: ended_turns(api, sandbox), bool)


def end_turns(api: Api, sandbox: str, name: str, count: int) -> None:
    """Have a new agent end so many turns, each once the one before was kept."""
    terminal = ""
    for turn in range(1, count + 1):
        before = len(outcomes(api, sandbox))
        if terminal:
            api.call("POST", f"{terminal}/ask", json={"prompt": f"{name} {turn}"})
        else:
            terminal = told(api, sandbox, f"{name} {turn}")
        await_outcome(api, sandbox, before + 1)


def test_turn_that_ends_is_kept_with_its_files_and_the_oldest_goes(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(profile="turns")["sandbox_id"]
    named = api.call("POST", f"/v1/sandboxes/{sandbox}/snapshots", json={"name": "mine"})
    end_turns(api, sandbox, "one", 4)
    end_turns(api, sandbox, "two", 3)
    assert set(outcomes(api, sandbox)) == {"snapshot.taken"}
    newest, *_, oldest = until(lambda: kept(api, sandbox), lambda found: len(found) == KEPT + 1)
    assert oldest["snapshot_id"] == named["snapshot_id"]
    assert newest["automatic"] and newest["still_ms"] <= 250
    assert (newest["turn"]["agent"], newest["turn"]["number"]) == (AGENT, 3)
    assert named["turn"] is None
    printed = server.run("snapshot", "list", sandbox).stdout
    assert f"turn 3 of {AGENT}" in printed and f"turn 2 of {AGENT}" in printed
    copy = api.create(seed={"snapshot": newest["snapshot_id"]})["sandbox_id"]
    assert api.run(copy, "cat /workspace/one") == "one 1\none 2\none 3\none 4\n"
    assert api.run(copy, "cat /workspace/two") == "two 1\ntwo 2\ntwo 3\n"
    assert on_disk(server) == {one["snapshot_id"] for one in kept(api, sandbox)}
    for each in (sandbox, copy):
        api.act(each, "destroy")
    for one in kept(api, sandbox):
        api.call("DELETE", f"/v1/snapshots/{one['snapshot_id']}")


@pytest.mark.parametrize("end", ["sleep", "destroy"])
def test_sandbox_that_ends_as_its_turn_does_leaves_nothing_half_made(
    server: TestServer, api: Api, end: str
) -> None:
    boxes = [api.create(profile="turns")["sandbox_id"] for _ in range(4)]
    for number, sandbox in enumerate(boxes):
        told(api, sandbox, f"file {number}")
        if number % 2:
            await_turn(api, sandbox)
        api.act(sandbox, end)
    known: set[str] = set()
    for sandbox in boxes:
        taken = kept(api, sandbox)
        assert {one["state"] for one in taken} <= {"ready"}
        known |= {one["snapshot_id"] for one in taken}
        if end == "sleep":
            # It begins at once, as no disk is being copied.
            assert "file" in api.run(sandbox, "ls /workspace")
            api.act(sandbox, "destroy")
    known |= {one["snapshot_id"] for sandbox in boxes for one in kept(api, sandbox)}
    assert on_disk(server) == known
    for snapshot in known:
        api.call("DELETE", f"/v1/snapshots/{snapshot}")


def test_control_plane_killed_after_a_turn_keeps_it_once_and_nothing_half_made(
    server: TestServer,
) -> None:
    with api_of(server) as api:
        sandbox = api.create(profile="turns")["sandbox_id"]
        told(api, sandbox, "file 1")
        await_turn(api, sandbox)
    server.kill()
    server.start()
    with api_of(server) as api:
        taken = until(
            lambda: [one for one in kept(api, sandbox) if one["state"] == "ready"],
            lambda found: {one["snapshot_id"] for one in found} == on_disk(server) != set(),
        )
        assert len(taken) == len(kept(api, sandbox)) == 1
        assert api.run(sandbox, "cat /workspace/file") == "file 1\n"
        api.act(sandbox, "destroy")
