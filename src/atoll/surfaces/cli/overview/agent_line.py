"""Lines that say what an agent does, as every command shows it."""

from collections.abc import Sequence

from atoll.client.made.agents.agents import AgentStatus
from atoll.client.made.sandboxes.views import Sandbox, SandboxAgent
from atoll.client.made.work.views import Work
from atoll.surfaces.cli.console.moments import age

MAX_WORDS = 48
WORK_WORDS = {"pr_open": "PR open", "pr_merged": "PR merged"}
"""The states of work that are not spelled as they are said."""
_KINDS = {"rebase": "onto", "merge": "with", "cherry_pick": "with", "revert": "with"}
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


def work_line(sandbox: Sandbox) -> str:
    """Return the state of a sandbox's work, since when where an agent says so, and what it is
    about; empty where there is no work."""
    work = sandbox.work
    words = WORK_WORDS.get(work.state, work.state.replace("_", " "))
    match work.state:
        case "working" | "needs_you" if sandbox.agents:
            return _with_agent(words, sandbox.agents)
        case "to_review" | "reviewed":
            return _with(words, changes_of(work))
        case "in_conflict":
            conflict = work.conflict
            onto = f" {_KINDS.get(conflict.kind, '')} {conflict.onto}" if conflict.onto else ""
            return f"{words}{onto}"
        case "merged":
            return f"{words} into {work.merge.into}"
        case "pr_open" | "pr_merged":
            return f"{words}: #{work.pull.pull}"
        case _:
            return words


def changes_of(work: Work) -> str:
    """Return the commits, lines and files of some work: `2 commits, +3 -1, 1 not committed`."""
    parts = []
    if work.commits:
        parts.append(f"{work.commits} {'commit' if work.commits == 1 else 'commits'}")
    if work.plus or work.minus:
        parts.append(f"+{work.plus} -{work.minus}")
    if work.uncommitted:
        parts.append(f"{work.uncommitted} not committed")
    return ", ".join(parts)


def _with_agent(words: str, agents: Sequence[SandboxAgent]) -> str:
    """Return the words with what the agent that concerns its person most is at."""
    more = f" (+{len(agents) - 1})" if len(agents) > 1 else ""
    status = agents[0].status
    detail = status.on if status.status == "working" else status.question or status.reason
    return _with(f"{words} {age(status.since)}", _cut(detail)) + more


def _with(words: str, detail: str) -> str:
    return f"{words}: {detail}" if detail else words


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
