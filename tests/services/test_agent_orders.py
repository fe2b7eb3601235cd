"""What a sandbox adds to an order for an agent before its runtime receives it."""

import json
from typing import Any

import pytest

from atoll.domain.principal import LOCAL_PERSON
from atoll.domain.sandbox import Sandbox
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
