"""Resumption: the agents that ran when a sandbox stopped go on when it starts.

Each is opened again as it was, in the conversation it had. One that cannot be is said in the
sandbox's log and never keeps the sandbox from starting.
"""

from collections.abc import Callable

from atoll.domain.agents.resumable import ResumeFallback, RunningAgent
from atoll.domain.errors import AtollError
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient
from atoll.wire.contract.agents import OpenAgentBody, list_agents, open_agent
from atoll.wire.words.terminals import Strictness


async def resume_agents(
    sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
) -> None:
    """Open what ran before. Raises nothing: what went wrong is reported."""
    if not sandbox.resuming or not sandbox.agents:
        return
    try:
        listed = await client.call(list_agents())
    except AtollError as error:
        report(f"No agent was resumed: {error.message}")
        return
    if listed.agents:
        # A start that was broken off had got that far.
        return
    for running in sandbox.agents:
        if running.conversation is None and running.otherwise is ResumeFallback.NEVER:
            report(f"{running.agent} was not resumed: it cannot resume a conversation.")
            continue
        try:
            await _resume(running, client)
        except AtollError as error:
            report(f"{running.agent} was not resumed: {error.message}")
        else:
            report(f"{running.agent} goes on {_where(running)}.")


async def _resume(running: RunningAgent, client: RuntimeClient) -> None:
    """Resume one agent. Raises the runtime's refusal."""
    body = OpenAgentBody(
        agent=running.agent,
        mode="machine" if running.mode == "machine" else "tui",
        name=running.name,
        cwd=running.cwd,
        permissions="ask" if running.asks else "allow",
        resume=running.conversation is None and running.otherwise is ResumeFallback.LAST,
        conversation=running.conversation,
        softlock="strict" if running.softlock is Strictness.STRICT else "owner",
    )
    await client.call(open_agent(body, principal=running.by))


def _where(running: RunningAgent) -> str:
    if running.conversation is not None:
        return f"in its conversation {running.conversation}"
    last = running.otherwise is ResumeFallback.LAST
    return "in its last conversation" if last else "afresh: nothing had been said to it"
