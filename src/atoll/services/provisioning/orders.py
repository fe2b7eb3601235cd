"""Orders for agents, completed by what their sandbox adds before the runtime receives them."""

from typing import TypeVar

from msgspec.structs import replace

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.contract.terminals import OpenBody
from atoll.wire.words.terminals import Strictness

B = TypeVar("B", OpenBody, OpenAgentBody)


def complete_order(sandbox: Sandbox, body: B, *, strict: bool = False) -> B:
    """Return the body the runtime is to receive: with the sandbox's soft lock, which an order may
    make stricter but not less strict, and with its instructions until an agent has them. The
    runtime gives instructions of one id once, so that two orders, or one that is repeated after a
    crash, do no harm."""
    if body.agent is None:
        return body
    if strict or sandbox.profile.softlock is Strictness.STRICT:
        body = replace(body, softlock="strict")
    goes_on = isinstance(body, OpenAgentBody) and (body.resume or body.conversation)
    if not goes_on and sandbox.instructions and not sandbox.instructed:
        given, number = sandbox.instructions, sandbox.generation
        body = replace(body, instructions=given, instructions_id=number)
    return body
