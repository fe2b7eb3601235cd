"""Orders for agents, completed by what their sandbox adds before the runtime receives them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from atoll.domain.errors import AtollError
from atoll.domain.event import Json
from atoll.domain.sandbox import Sandbox
from atoll.domain.terminal.softlock import Strictness
from atoll.services.instructions import claim, give_back
from atoll.services.transitions import Transitions

_GOES_ON = ("resume", "conversation")


@asynccontextmanager
async def completed(
    transitions: Transitions, sandbox: Sandbox, body: bytes, *, strict: bool = False
) -> AsyncIterator[bytes]:
    """The body the runtime is to receive: with the sandbox's soft lock, which an order may make
    stricter but not less strict, and for its first agent with its instructions. An error within
    leaves the instructions to the next agent."""
    # `null` is what some clients send for no body.
    order: dict[str, Json] = msgspec.json.decode(body or b"{}", type=dict | None) or {}
    if order.get("agent") is None:
        yield body if order else b"{}"
        return
    if strict or sandbox.profile.softlock is Strictness.STRICT:
        order["softlock"] = Strictness.STRICT.value
    fresh = not any(order.get(name) for name in _GOES_ON)
    claimed = fresh and await claim(transitions, sandbox)
    if claimed:
        order["instructions"] = sandbox.instructions
    try:
        yield msgspec.json.encode(order)
    except AtollError:
        if claimed:
            await give_back(transitions, sandbox)
        raise
