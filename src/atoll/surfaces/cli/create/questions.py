"""`atoll new` with nothing said, at a terminal: ask for the repository and the agent.

Nothing is asked that has only one answer.
"""

from pathlib import Path

from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.console.selection import can_ask, pick


def ask_plan(invocation: Invocation) -> SandboxPlan:
    """Return the plan that the person chose; an empty plan without a terminal."""
    if not can_ask():
        return SandboxPlan()
    return SandboxPlan(repo=_repository(), agent=_agent(invocation))


def _repository() -> str | None:
    from atoll.surfaces.cli.transfer.local_repo import describe

    try:
        checkout = describe(Path.cwd())
    except AtollError:
        return None
    if not checkout.branch:
        return None
    rows = (f"{checkout.name}: this folder's repository, from {checkout.branch}", "nothing: empty")
    return str(checkout.root) if pick("What to work on", rows) == 0 else None


def _agent(invocation: Invocation) -> str | None:
    if invocation.environ.get("ATOLL_URL"):
        return None  # what is installed there is not known here
    shelf = invocation.host().agents(invocation.home.absolute())
    names = [program.agent.name for program in shelf.list() if program.versions]
    if not names:
        return None
    number = pick("Who works in it", ("you, at a shell", *names))
    return names[number - 1] if number else None
