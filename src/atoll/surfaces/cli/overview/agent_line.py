"""Lines that say what an agent does, as every command shows it."""

from collections.abc import Sequence

from atoll.client.made.agents.agents import AgentStatus
from atoll.client.made.sandboxes.views import SandboxAgent
from atoll.surfaces.cli.console.moments import age

MAX_WORDS = 48
WORDS = {
    "working": "works",
    "needs_you": "needs you",
    "done": "done",
    "idle": "idle",
    "stopped": "stopped",
    "failed": "failed",
}


def agents_line(agents: Sequence[SandboxAgent], *, wanted: str) -> str:
    """Return what the agents of a sandbox do: of the one that concerns its person most, and how
    many others there are. `wanted` is the agent that the sandbox was made for."""
    if not agents:
        return "not started" if wanted else "-"
    more = f" (+{len(agents) - 1})" if len(agents) > 1 else ""
    return status_line(agents[0].status) + more


def status_line(status: AgentStatus) -> str:
    """Return one line: `works 3m: npm test`, `needs you 1m: Allow Bash?`."""
    words = WORDS.get(status.status, status.status)
    detail = {"working": status.on, "done": _work_summary(status)}.get(
        status.status, status.question or status.reason
    )
    for_how_long = f" {age(status.since)}" if status.status != "stopped" else ""
    return f"{words}{for_how_long}" + (f": {_cut(detail)}" if detail else "")


def _work_summary(status: AgentStatus) -> str:
    turns = f"{status.turns} {'turn' if status.turns == 1 else 'turns'}"
    parts = [turns]
    if status.commits:
        parts.append(f"{status.commits} {'commit' if status.commits == 1 else 'commits'}")
    if status.plus or status.minus:
        parts.append(f"+{status.plus} -{status.minus}")
    return ", ".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1].rstrip() + "…"
