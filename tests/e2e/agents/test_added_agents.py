"""Agents that an administrator adds, by `atoll agent add`: driven like any other, without code."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.agents.agent_world import World, run, sandbox_for
from tests.peers.api import Pauses

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(400),
    pytest.mark.asyncio(loop_scope="session"),
]

NPM = """#!/bin/sh
for last; do :; done
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/.bin" "$2/node_modules/asker"
echo '{"version":"1.0.0","bin":{"asker":"x"}}' > "$2/node_modules/asker/package.json"
cp "$0.agent" "$2/node_modules/.bin/asker"; chmod 755 "$2/node_modules/.bin/asker"
"""
ASKER = '''#!/usr/bin/python3
"""An agent that asks before it writes, by options of odd names, and then in a form."""
import json, os, sys
def send(**more): print(json.dumps({"jsonrpc": "2.0", **more}), flush=True)
def update(words): send(method="session/update", params={"sessionId": "s", "update": {
    "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}})
if sys.argv[1:] != ["--acp"]: sys.exit("asker: no terminal")
for line in sys.stdin:
    told = json.loads(line); method, result = told.get("method"), told.get("result", {})
    if method == "initialize": send(id=told["id"], result={"protocolVersion": 1})
    if method == "session/new": send(id=told["id"], result={"sessionId": "s"})
    if method == "session/prompt":
        prompt = told["id"]
        send(id="p", method="session/request_permission", params={"sessionId": "s",
            "toolCall": {"toolCallId": "t", "title": "write", "kind": "execute",
                         "rawInput": {"command": "write"}},
            "options": [{"optionId": "for-ever", "name": "Always", "kind": "allow_always"},
                        {"optionId": "x1", "name": "Yes", "kind": "allow_once"}]})
    if told.get("id") == "p":
        open("made.txt", "w").write(result["outcome"]["optionId"] + " " + os.environ["KEY"])
        send(id="f", method="elicitation/create", params={"sessionId": "s", "mode": "form",
            "message": "Which colour?", "requestedSchema": {"type": "object", "properties": {
                "c": {"type": "string", "enum": ["red", "blue"]}}, "required": ["c"]}})
    if told.get("id") == "f":
        open(os.path.expanduser("~/.asker/kept"), "w").write("kept")
        update("You chose " + result["content"]["c"] + ".")
        send(id=prompt, result={"stopReason": "end_turn"})
'''


@pytest.fixture
def npm(tmp_path: Path) -> dict[str, str]:
    """The environment of a command line whose npm has the package `asker`."""
    program = tmp_path / "tools" / "npm"
    program.parent.mkdir()
    program.write_text(NPM)
    program.chmod(0o755)
    program.with_name("npm.agent").write_text(ASKER)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


async def eventually(look: Callable[[], Any]) -> Any:
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            found = await look()
            if found is not None:
                return found
            await pauses.wait()


def atoll(w: World, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    known = {**os.environ, **w.server.env, "ATOLL_HOME": str(w.server.home), "NO_COLOR": "1"}
    return w.server.run(*words, env={**known, **env})


async def test_added_agent_gets_a_task_asks_and_is_answered(
    w: World, repository: Path, npm: dict[str, str]
) -> None:
    words = ("--npm", "asker", "--env", "KEY=$OPENAI_API_KEY", "--state", ".asker")
    added = await asyncio.to_thread(atoll, w, "agent", "add", "acp:asker", *words, **npm)
    assert added.returncode == 0, added.stderr
    try:
        told = (await w.api.get("/v1/agent-catalogue")).json()["agents"]
        (entry,) = [one for one in told if one["name"] == "acp:asker"]
        assert (entry["state"], entry["machine"]) == ("works", True)
        sandbox = await sandbox_for(w, "acp:asker", repository, "--prompt", "Write it.")
        shown = (await w.api.get(f"/v1/sandboxes/{sandbox}")).json()
        assert shown["task"]["mode"] == "machine" and shown["task"]["state"] == "given"

        async def question() -> dict[str, Any] | None:
            items = (await w.api.get("/v1/inbox")).json()["items"]
            return next((one for one in items if one["lines"][-1] == "Which colour?"), None)

        asked = await eventually(question)
        assert [one["id"] for one in asked["options"]] == ["red", "blue", "decline"]
        box = shown["name"]
        answered = await asyncio.to_thread(
            atoll, w, "agent", "answer", box, "approval:f", "--option", "blue"
        )
        assert answered.returncode == 0, answered.stderr

        async def said() -> str | None:
            cards = await asyncio.to_thread(atoll, w, "agent", "cards", box)
            return cards.stdout if "You chose blue." in cards.stdout else None

        await eventually(said)
        code, made = await run(w, sandbox, "cat", "made.txt")
        assert (code, made.split()[0]) == (0, b"x1") and b"placeholder" in made
        code, kept = await run(w, sandbox, "cat", "/.atoll/state/acp/asker/.asker/kept")
        assert (code, kept) == (0, b"kept")
        terminal = await w.api.post(
            f"/v1/sandboxes/{sandbox}/terminals", json={"agent": "acp:asker"}
        )
        assert (terminal.status_code, terminal.json()["field"]) == (422, "agent")
        refused = await w.api.post("/v1/workers", json={"worker_id": "x", "agent": "acp:nobody"})
        assert (refused.status_code, refused.json()["field"]) == (422, "agent")
        await w.api.post(f"/v1/sandboxes/{sandbox}/destroy?wait=true&timeout=120")
    finally:
        forget(w, "acp-asker")
    told = (await w.api.get("/v1/agent-catalogue")).json()["agents"]
    assert "acp:asker" not in {one["name"] for one in told}


def forget(w: World, name: str) -> None:
    """Take an agent away as `atoll agent rm` does, which waits for the pool of walls, too."""
    (w.server.home / "agents" / name / "agent.json").unlink()


COPILOT = (
    "--npm=@github/copilot@1.0.102", "--state=.copilot", "--provider=openai",
    "--env=COPILOT_OFFLINE=true", "--env=COPILOT_MODEL=fake-model",
    "--env=COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:8082/broker/openai/v1",
    "--env=COPILOT_PROVIDER_API_KEY=$OPENAI_API_KEY", "--env=COPILOT_AUTO_UPDATE=false",
)  # fmt: skip
KIMI = ("--npm=@moonshot-ai/kimi-code@2.1.0", "--state=.kimi-code", "--provider=openai")
CONFIG = """\
default_model="fake"
[providers.fake]
type="openai"
base_url="http://127.0.0.1:8082/broker/openai/v1"
api_key="atoll-placeholder-openai-no-key-inside"
[models.fake]
provider="fake"
model="fake-model"
max_context_size=200000
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words", "tool"), [("acp:copilot", COPILOT, "bash"), ("acp:kimi", KIMI, "Bash")]
)
async def test_agent_of_a_registry_finishes_a_task_through_the_door(
    w: World, repository: Path, name: str, words: tuple[str, ...], tool: str
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("agents are installed by npm, which is not on this machine")
    added = await asyncio.to_thread(atoll, w, "agent", "add", name, *words)
    assert added.returncode == 0, added.stderr
    try:
        await finish_a_task(w, repository, name, tool)
    finally:
        forget(w, name.replace(":", "-"))


async def finish_a_task(w: World, repository: Path, name: str, tool: str) -> None:
    """Have an added agent write a file, by the model behind the broker."""
    sandbox = await sandbox_for(w, name, repository)
    script = f"mkdir -p ~/.kimi-code; echo '{CONFIG}' > ~/.kimi-code/config.toml"
    assert (await run(w, sandbox, "sh", "-c", script))[0] == 0
    call = json.dumps({"command": "echo made > made.txt", "description": "write"})
    opened = await w.api.post(
        f"/v1/sandboxes/{sandbox}/agents",
        json={"agent": name, "prompt": f"Please write. [[tool {tool} {call}]]"},
    )
    assert opened.status_code == 201, opened.text

    async def made() -> bool | None:
        return await run(w, sandbox, "cat", "made.txt") == (0, b"made\n") or None

    await eventually(made)
    assert not w.model.rejected
    await w.api.post(f"/v1/sandboxes/{sandbox}/destroy?wait=true&timeout=120")
