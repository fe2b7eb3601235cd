"""What a sandbox adds to an order for an agent before its runtime receives it."""

import asyncio
import json
from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.principal import LOCAL_PERSON
from atoll.domain.sandbox import Sandbox, SetupMetadata
from atoll.services.agents import Agents
from atoll.services.terminals import Terminals
from tests.services.scene import Scene, scene

AGENTS, SESSIONS = ("POST", "/agents"), ("POST", "/sessions")


def sent(s: Scene, route: tuple[str, str]) -> list[dict[str, Any]]:
    """The orders the runtime received."""
    return [json.loads(c.body or b"") for c in s.runtime.calls if (c.method, c.path) == route]


async def opened(s: Scene, sandbox: Sandbox, **order: object) -> None:
    s.runtime.answers.setdefault(AGENTS, (201, {"id": "t_1"}))
    agents = Agents(s.sandboxes, Terminals(s.sandboxes))
    await agents.open(LOCAL_PERSON, sandbox.id, json.dumps({"agent": "codex", **order}).encode())


@pytest.mark.parametrize(
    ("sandbox", "order", "expected"),
    [
        (None, None, "owner"),
        (None, "strict", "strict"),
        ("strict", None, "strict"),
        ("strict", "owner", "strict"),
    ],
)
async def test_agent_is_as_strict_as_its_sandbox_or_stricter(
    sandbox: str | None, order: str | None, expected: str
) -> None:
    async with scene() as s:
        made = await s.ready(softlock=sandbox)
        await opened(s, made, **({} if order is None else {"softlock": order}))
        (body,) = sent(s, AGENTS)
        assert body.get("softlock", "owner") == expected


async def test_terminal_of_an_agent_is_strict_where_its_caller_is_and_a_shell_has_no_lock() -> None:
    async with scene() as s:
        made = await s.ready()
        s.runtime.answers[SESSIONS] = (201, {"session_id": "t_1"})
        terminals = Terminals(s.sandboxes)
        await terminals.open(LOCAL_PERSON, made.id, b'{"agent":"codex"}')
        await terminals.open(LOCAL_PERSON, made.id, b'{"agent":"codex"}', strict=True)
        await terminals.open(LOCAL_PERSON, made.id, b"", strict=True)
        assert [body.get("softlock") for body in sent(s, SESSIONS)] == [None, "strict", None]


WORDS = "Read CONTRIBUTING first."


async def told(s: Scene, sandbox: Sandbox) -> Sandbox:
    return await s.sandboxes.get(LOCAL_PERSON, sandbox.id)


async def test_first_agent_gets_the_instructions_and_no_other_does() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        await opened(s, made, prompt="Fix it")
        await opened(s, made)
        first, second = sent(s, AGENTS)
        assert (first["instructions"], first["prompt"]) == (WORDS, "Fix it")
        assert "instructions" not in second
        assert ((await told(s, made)).instructed, made.instructed) == (True, False)


async def test_agents_started_at_once_get_the_instructions_once() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        await asyncio.gather(*(opened(s, made) for _ in range(5)))
        assert sum("instructions" in body for body in sent(s, AGENTS)) == 1


async def test_agent_that_goes_on_gets_none_and_one_that_fails_leaves_them() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        await opened(s, made, conversation="c-1")
        await opened(s, made, resume=True)
        s.runtime.answers[AGENTS] = (422, {"code": "no_such_program", "detail": "not here"})
        with pytest.raises(Invalid):
            await opened(s, made)
        s.runtime.answers[AGENTS] = (201, {"id": "t_2"})
        await opened(s, made)
        given = ["instructions" in body for body in sent(s, AGENTS)]
        assert given == [False, False, True, True]
        assert sent(s, AGENTS)[0]["conversation"] == "c-1"


async def test_instructions_are_given_again_only_after_a_recreate() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        await opened(s, made)
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        await opened(s, made)
        await s.sandboxes.recreate(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        await opened(s, made)
        given = ["instructions" in body for body in sent(s, AGENTS)]
        assert given == [True, False, True]
