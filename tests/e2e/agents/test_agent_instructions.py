"""Instructions of a sandbox: real agents get them as their first prompt, and only once."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from atoll.testing.model_server import DONE
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, first_here, sandbox_for
from tests.e2e.agents.test_agent_control import reading, viewing
from tests.e2e.agents.test_agent_resumption import agents, atoll, opened, restarted, talked_with

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

WORDS = "Always greet the heron before you begin."


async def test_instructions_that_cannot_be_resolved_are_refused_before_anything_starts(
    w: World,
    repository: Path,
) -> None:
    for setup in ({"instructions_ref": "s3://x/y"}, {"instructions_ref": "repo:README.md"}):
        refused = await w.api.post("/v1/sandboxes", json={"setup_metadata": setup})
        assert refused.status_code == 422, refused.text
        assert refused.json()["field"] == "setup_metadata.instructions_ref"
    done = await asyncio.to_thread(
        w.server.run, "new", str(repository), "--detach", "--instructions", "repo:none.md"
    )
    assert done.returncode != 0
    assert "'repo:none.md' cannot be read: there is no such file in" in done.stderr
    assert (await w.api.get("/v1/sandboxes")).json()["sandboxes"] == []


@first_here("claude-code", "codex")
async def test_agent_at_a_terminal_gets_its_instructions_first_and_once(
    w: World,
    agent: str,
    repository: Path,
    tmp_path: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    (tmp_path / "start.md").write_text(WORDS)
    await asyncio.to_thread(provide_agent, w.server, agent)
    words = ("--instructions", str(tmp_path / "start.md"))
    sandbox = await sandbox_for(w, agent, repository, *words)
    assert "no agent has it yet" in await atoll(w, "info", sandbox)
    first = await opened(w, sandbox, agent)
    here = f"/v1/sandboxes/{sandbox}/terminals/{first}"
    async with viewing(w, f"{here}/attach?client=me"), reading(w, f"{here}/cards") as cards:
        await cards.until(lambda r: r.turns("done") == 1)
    assert _told(w)
    assert (await _once_given(w, sandbox))["instructions"] == WORDS

    (running,) = await restarted(w, sandbox)
    w.model.bodies.clear()
    await talked_with(w, sandbox, running["id"], "And now?", turns=2)
    # Beside the conversation, which has the model's answer, Codex asks for the prompt's title.
    talked = [body for body in w.model.bodies if "And now?" in body and DONE in body]
    assert [body.count(WORDS) for body in talked] == [1] * len(talked) != []


@first_here("codex", "claude-code")
async def test_agent_as_a_machine_gets_the_file_of_its_repository_before_its_prompt(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    _commit(repository, "START.md", WORDS)
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository, "--instructions", "repo:START.md")
    body = {"agent": agent, "mode": "machine", "prompt": "Now mend it."}
    for expected in (1, 0):
        w.model.bodies.clear()
        made = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json=body)
        assert made.status_code == 201, made.text
        here = f"/v1/sandboxes/{sandbox}/terminals/{made.json()['id']}"
        async with reading(w, f"{here}/cards") as cards:
            await cards.until(lambda r: r.turns("done") == 1)
        asked = next(text for text in w.model.bodies if "Now mend it." in text)
        assert asked.count(WORDS) == expected
        assert not expected or asked.index(WORDS) < asked.index("Now mend it.")
    assert len(await agents(w, sandbox)) == 2


async def _once_given(w: World, sandbox: str) -> dict[str, Any]:
    """What the sandbox shows of its instructions, once its journal was read."""
    async with asyncio.timeout(60):
        while True:
            shown = json.loads(await atoll(w, "info", sandbox, "--json"))["setup_metadata"]
            if shown["instructed"]:
                return cast("dict[str, Any]", shown)


def _told(w: World) -> bool:
    """Whether the first prompt the model saw holds the instructions."""
    return WORDS in next(body for body in w.model.bodies if '"user"' in body)


def _commit(repository: Path, name: str, words: str) -> None:
    (repository / name).write_text(words)
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    git = ["git", "-C", str(repository), *identity]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "instructions"], check=True)
