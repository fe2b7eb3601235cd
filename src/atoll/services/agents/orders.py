"""Orders for agents, completed by what their sandbox adds before the runtime receives them."""

import msgspec

from atoll.domain.event import Json
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.domain.terminal.softlock import Strictness

_GOES_ON = ("resume", "conversation")


def completed(sandbox: Sandbox, body: bytes, *, strict: bool = False) -> bytes:
    """Return the body the runtime is to receive: with the sandbox's soft lock, which an order may
    make stricter but not less strict, and with its instructions until an agent has them. The
    runtime gives instructions of one id once, so that two orders, or one that is repeated after a
    crash, do no harm."""
    # `null` is what some clients send for no body.
    order: dict[str, Json] = msgspec.json.decode(body or b"{}", type=dict | None) or {}
    if order.get("agent") is None:
        return body if order else b"{}"
    if strict or sandbox.profile.softlock is Strictness.STRICT:
        order["softlock"] = Strictness.STRICT.value
    fresh = not any(order.get(name) for name in _GOES_ON)
    if fresh and sandbox.instructions and not sandbox.instructed:
        order["instructions"] = sandbox.instructions
        order["instructions_id"] = sandbox.generation
    return msgspec.json.encode(order)
