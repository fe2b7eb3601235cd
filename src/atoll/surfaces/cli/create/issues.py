"""A task that is an issue or a pull request at a forge: `atoll new --issue ADDRESS`."""

from dataclasses import dataclass, replace

from atoll.client.made.forges import Issue, Issues
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.output import clean, note
from atoll.surfaces.cli.console.plan import SandboxPlan


@dataclass(frozen=True, slots=True)
class IssuePlan:
    """A plan that an issue completed, its task, and the issue's address."""

    plan: SandboxPlan
    prompt: str | None
    issue: str | None = None


def plan_issue(
    invocation: Invocation, plan: SandboxPlan, prompt: str | None, address: str | None
) -> IssuePlan:
    """Return the plan with repository and branch of an issue where it names none, and with its
    words after the prompt's. Without an address nothing changes. Raises what the server does."""
    if address is None:
        return IssuePlan(plan, prompt)
    issue = Issues(invocation.api().transport).get(address)
    note(_describe(issue))
    completed = replace(plan, repo=plan.repo or issue.repo_url, branch=plan.branch or issue.branch)
    words = issue.prompt if prompt is None else f"{prompt.strip()}\n\n{issue.prompt}"
    return IssuePlan(completed, words, issue.url)


def _describe(issue: Issue) -> str:
    kind = "pull request" if issue.kind == "pull" else "issue"
    state = "" if issue.state == "open" else f" ({issue.state})"
    return f"{kind} {issue.number}{state}: {clean(issue.title)}, on branch {clean(issue.branch)}"
