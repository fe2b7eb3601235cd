"""`atoll pr`: pull requests of a sandbox's branch, at the forge of its repository."""

import click

from atoll.client.made.forges import DiscussedPull, PullRequestBody, PullRequests
from atoll.client.transport import Pairs
from atoll.domain.errors import NotFound
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import clean, note, say, show_json
from atoll.surfaces.cli.dispatch.verbs import UsualVerb

_repo = click.option(
    "--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0."
)


class _PullGroup(UsualVerb):
    """The group `pr`: a name alone shows its pull request."""

    usual = "show"


@click.group("pr", cls=_PullGroup)
def command() -> None:
    """Open and show pull requests."""


@needs("repository.write")
@command.command("create")
@sandbox_argument()
@click.option(
    "--title", "-t", default=None, help="Its title  [default: the first line of the task]"
)
@click.option("--text", default="", help="What it says.")
@click.option("--branch", default=None, help="The branch  [default: the one checked out]")
@click.option("--base", default=None, help="Where it leads  [default: where the branch began]")
@click.option("--draft", is_flag=True, help="Open it as a draft.")
@_repo
@json_option()
@pass_invocation
def create(
    invocation: Invocation,
    name: str,
    *,
    title: str | None,
    text: str,
    branch: str | None,
    base: str | None,
    draft: bool,
    repo: int,
    as_json: bool,
) -> None:
    """Push a branch of a sandbox and open its pull request.

    The branch leaves as `git push` inside would, by the secret of its remote. The pull request is
    opened with the secret of its forge, and answers the issue that the task began with. One that is
    open already, or that the task began with, gets the new commits and is shown.
    """
    body: PullRequestBody = {"text": text, "repo": repo, "draft": draft}
    if title is not None:
        body["title"] = title
    if branch is not None:
        body["branch"] = branch
    if base is not None:
        body["base"] = base
    made = PullRequests(invocation.api().transport).create(name, body)
    if as_json:
        show_json(made.value)
        return
    say(f"{'is open already' if made.existed else 'opened'}: {clean(made.url)}")


@needs("repository.read")
@command.command("show")
@sandbox_argument()
@click.option("--branch", default=None, help="The branch  [default: the sandbox's]")
@_repo
@json_option()
@pass_invocation
def show(
    invocation: Invocation, name: str, *, branch: str | None, repo: int, as_json: bool
) -> None:
    """Show the newest pull request of a branch, its checks and comments."""
    query: Pairs = (("repo", str(repo)),)
    if branch is not None:
        query = (*query, ("branch", branch))
    pulls = PullRequests(invocation.api().transport)
    requests = pulls.list(name, query).pull_requests
    if not requests:
        raise NotFound(
            f"There is no pull request of this branch: open one with `atoll pr create {name}`."
        )
    pull = pulls.get(name, requests[0].number, query)
    if as_json:
        show_json(pull.value)
    else:
        _print_pull(pull)


def _print_pull(pull: DiscussedPull) -> None:
    state = f"{pull.state}, a draft" if pull.draft else pull.state
    say(f"{clean(pull.title)} ({state})")
    say(f"{clean(pull.branch)} into {clean(pull.base)} at {clean(pull.commit[:12])}")
    say(clean(pull.url))
    for check in pull.checks:
        say(f"{check.state:>8}  {clean(check.name)}")
    if not pull.comments:
        note("no comments")
    for comment in pull.comments:
        place = f" on {clean(comment.path)}:{comment.line}" if comment.path else ""
        say(f"\n{clean(comment.author)}{place}, {clean(comment.at)}:")
        for line in comment.text.splitlines():
            say(f"  {clean(line)}")
