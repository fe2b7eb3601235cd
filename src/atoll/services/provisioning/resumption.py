"""Resumption: the agents that ran when a sandbox stopped go on when it starts.

Each is opened again as it was, in the conversation it had. One that cannot be is said in the
sandbox's log and never keeps the sandbox from starting.
"""

from collections.abc import Callable

from atoll.domain.agent.resumable import AgentSeat, Otherwise
from atoll.domain.errors import AtollError
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.domain.terminal.softlock import Strictness
from atoll.ports import RuntimeClient
from atoll.wire.contract.agents import OpenAgentBody, list_agents, open_agent


async def resume_agents(
    sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
) -> None:
    """Open what ran before. Raises nothing: what went wrong is reported."""
    if not sandbox.resuming or not sandbox.agents:
        return
    try:
        listed = await client.call(list_agents())
    except AtollError as error:
        report(f"No agent goes on by itself: {error.message}")
        return
    if listed.agents:
        # A start that was broken off had got that far.
        return
    for seat in sandbox.agents:
        if seat.conversation is None and seat.otherwise is Otherwise.NEVER:
            report(f"{seat.agent} does not go on by itself: it cannot take up a conversation.")
            continue
        try:
            await _resume(seat, client)
        except AtollError as error:
            report(f"{seat.agent} does not go on by itself: {error.message}")
        else:
            report(f"{seat.agent} goes on {_where(seat)}.")


async def _resume(seat: AgentSeat, client: RuntimeClient) -> None:
    """Raises what the runtime says against it."""
    body = OpenAgentBody(
        agent=seat.agent,
        mode="machine" if seat.mode == "machine" else "tui",
        name=seat.name,
        cwd=seat.cwd,
        permissions="ask" if seat.asks else "allow",
        resume=seat.conversation is None and seat.otherwise is Otherwise.LAST,
        conversation=seat.conversation,
        softlock="strict" if seat.softlock is Strictness.STRICT else "owner",
    )
    await client.call(open_agent(body, principal=seat.by))


def _where(seat: AgentSeat) -> str:
    if seat.conversation is not None:
        return f"in its conversation {seat.conversation}"
    last = seat.otherwise is Otherwise.LAST
    return "in its last conversation" if last else "afresh: nothing had been said to it"
