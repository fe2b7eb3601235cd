"""The list of sandboxes as `atoll list` prints it, one row each.

Loaded at every start of that command, so it loads little itself.
"""

import sys
from collections.abc import Sequence

from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import AWAY
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.output import clean, cut_middle, note, show_json, show_table
from atoll.surfaces.cli.console.waiting import end_notice, name_of, state_of
from atoll.surfaces.cli.overview.agent_line import agents_line, work_line

EXPECTED = ("requested", "provisioning", "ready", "active")
"""The states in which the agent of a sandbox may still be started."""
SETUP_MARKS = {"running": "set-up runs", "failed": "set-up failed"}
SETUP_WAITS = {
    "waiting": "waits for the set-up",
    "running": "waits for the set-up",
    "failed": "needs you: the set-up failed",
}
MAX_SHOWN = 36
"""The longest name in a table on a terminal; `--json` and pipes have it whole."""
FLEXIBLE = ("REPOSITORY", "STATUS", "PROFILE", "AGENT", "STATE")
"""The columns that a narrow terminal cuts, the first ones first; never a name, so that no two look
alike."""
HEADINGS = ("NAME", "STATE", "STATUS", "AGE", "PROFILE", "AGENT", "REPOSITORY")


def show_sandboxes(sandboxes: list[Sandbox], *, as_json: bool) -> None:
    """Print the list, those that need their person first: a table with the notices of those that
    end soon or are on a machine that is away, or JSON."""
    sandboxes = sorted(sandboxes, key=_needs_nobody)
    if as_json:
        show_json({"sandboxes": [row.value for row in sandboxes], "next": None})
    elif sandboxes:
        names = shown_names([name_of(sandbox) for sandbox in sandboxes])
        show_table(HEADINGS, map(_sandbox_row, sandboxes, names), flexible=FLEXIBLE)
        for words in filter(None, (*map(end_notice, sandboxes), *map(_away_notice, sandboxes))):
            note(words)
    else:
        note("no sandboxes: make one with `atoll new`")


def shown_names(names: Sequence[str]) -> list[str]:
    """Return the names as a table on a terminal shows them: long ones cut in their middle, unless
    two of them would look alike."""
    if not sys.stdout.isatty():
        return list(names)
    cut = [cut_middle(name, MAX_SHOWN) for name in names]
    return [
        short if cut.count(short) == 1 else name for name, short in zip(names, cut, strict=True)
    ]


def _sandbox_row(sandbox: Sandbox, name: str) -> tuple[str, ...]:
    metadata = sandbox.metadata
    repository = metadata.repo_url.rsplit("/", 1)[-1].removesuffix(".git")
    branch = metadata.branch
    return (
        name,
        _state(sandbox),
        _status(sandbox),
        age(sandbox.created_at),
        sandbox.profile.id.removeprefix("profile."),
        sandbox.agent or (sandbox.agents[0].agent if sandbox.agents else "-"),
        f"{repository}@{branch}" if repository and branch else repository or "-",
    )


def _needs_nobody(sandbox: Sandbox) -> bool:
    """Report whether neither an agent, a conflict nor a failed set-up waits for the person."""
    if sandbox.work.state in ("needs_you", "in_conflict"):
        return False
    if sandbox.task.state == "waiting" and sandbox.project.state == "failed":
        return False
    return all(agent.status.status != "needs_you" for agent in sandbox.agents)


def _status(sandbox: Sandbox) -> str:
    """Return what the agents do, or for what their task waits."""
    if sandbox.task.state == "waiting" and sandbox.project.state in SETUP_WAITS:
        return SETUP_WAITS[sandbox.project.state]
    expected = sandbox.state in EXPECTED
    if expected and sandbox.task.state == "given" and not sandbox.agents:
        return "starting"  # Its first report is on its way.
    if sandbox.work.state:
        return clean(work_line(sandbox))
    return agents_line(sandbox.agents, wanted=sandbox.agent if expected else "")


def _is_away(sandbox: Sandbox) -> bool:
    return sandbox.reason.startswith(AWAY)


def _away_notice(sandbox: Sandbox) -> str:
    """Return why a sandbox's machine is not reached; empty for any other."""
    return f"{name_of(sandbox)} is {clean(sandbox.reason)}" if _is_away(sandbox) else ""


def _state(sandbox: Sandbox) -> str:
    if sandbox.task.state == "queued":
        return f"queued ({sandbox.task.before} before it)"
    marks = ["exposed"] if sandbox.exposed_secrets else []
    if sandbox.parent:
        marks.append(f"child of {sandbox.parent}")
    if sandbox.project.state in SETUP_MARKS:
        marks.append(SETUP_MARKS[sandbox.project.state])
    if sandbox.ends_soon:
        marks.append("ends soon")
    if _is_away(sandbox):
        marks.append("not reached")
    return state_of(sandbox) + (f" ({', '.join(marks)})" if marks else "")
