"""What a sandbox adds to an order for an agent before its runtime receives it."""

import asyncio
from typing import Any

import msgspec
import pytest

from atoll.domain.errors import Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox, SetupMetadata
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.contract.terminals import OpenBody
from tests.peers.contract import AGENT, SESSION
from tests.services.journals.test_journals import entry
from tests.services.scene import Scene, body_of, scene

AGENTS, SESSIONS = ("POST", "/agents"), ("POST", "/sessions")


def sent(s: Scene, route: tuple[str, str]) -> list[dict[str, Any]]:
    """The orders the runtime received."""
    return [body_of(c) for c in s.runtime.calls if (c.method, c.path) == route]


async def opened(s: Scene, sandbox: Sandbox, **order: object) -> None:
    s.runtime.answers.setdefault(AGENTS, (201, AGENT))
    agents = s.agents
    body = msgspec.convert({"agent": "codex", **order}, OpenAgentBody)
    await agents.open(LOCAL_PERSON, sandbox.id, body)


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
        s.runtime.answers[SESSIONS] = (201, SESSION)
        terminals = s.terminals
        await terminals.open(LOCAL_PERSON, made.id, OpenBody(agent="codex"))
        await terminals.open(LOCAL_PERSON, made.id, OpenBody(agent="codex"), strict=True)
        await terminals.open(LOCAL_PERSON, made.id, OpenBody(), strict=True)
        assert [body.get("softlock") for body in sent(s, SESSIONS)] == [None, "strict", None]


WORDS = "Read CONTRIBUTING first."


async def received(s: Scene, sandbox: Sandbox) -> None:
    """The runtime's journal says that an agent has them, and that was collected."""
    generation = (await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).generation
    agent = {"id": "t_1", "agent": "codex", "instructions_id": generation}
    s.runtime.journal[:] = [entry(1, "agent.instructed", **agent)]
    async with asyncio.timeout(10):
        # An order goes by what the process knows, a moment after it was stored.
        while not (await s.access.runtime(LOCAL_PERSON, sandbox.id))[0].instructed:
            s.clock.turn(10)
            await asyncio.sleep(0.01)  # a database takes real time, and time must not run away


def given(s: Scene) -> list[bool]:
    return ["instructions" in body for body in sent(s, AGENTS)]


async def test_first_agent_gets_the_instructions_and_no_other_does() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        await opened(s, made, prompt="Fix it")
        await received(s, made)
        await opened(s, made)
        first, second = sent(s, AGENTS)
        assert (first["instructions"], first["instructions_id"]) == (WORDS, 1)
        assert first["prompt"] == "Fix it"
        assert "instructions" not in second and "instructions_id" not in second


async def test_instructions_are_given_only_once_the_runtime_says_so() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        # As when the control plane ends after the request and before the agent's start.
        await opened(s, made)
        assert not (await s.sandboxes.get(LOCAL_PERSON, made.id)).instructed
        await opened(s, made)
        orders = sent(s, AGENTS)
        assert [order["instructions_id"] for order in orders] == [1, 1]
        await received(s, made)
        await opened(s, made)
        assert given(s) == [True, True, False]


async def test_agent_that_goes_on_gets_none_and_one_that_fails_leaves_them() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        await opened(s, made, conversation="c-1")
        await opened(s, made, resume=True)
        s.runtime.answers[AGENTS] = (422, {"code": "no_such_program", "detail": "not here"})
        with pytest.raises(Invalid):
            await opened(s, made)
        s.runtime.answers[AGENTS] = (201, AGENT)
        await opened(s, made)
        assert given(s) == [False, False, True, True]
        assert sent(s, AGENTS)[0]["conversation"] == "c-1"


async def test_instructions_are_given_again_only_after_a_recreate() -> None:
    async with scene() as s:
        made = await s.ready(setup_metadata=SetupMetadata(instructions=WORDS))
        await opened(s, made)
        await received(s, made)
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        await opened(s, made)
        await s.sandboxes.recreate(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        await opened(s, made)
        assert given(s) == [True, False, True]
        assert sent(s, AGENTS)[-1]["instructions_id"] == 2
