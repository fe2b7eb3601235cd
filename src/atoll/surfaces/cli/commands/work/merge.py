"""`atoll merge`: a sandbox's branch goes into another branch, inside, and comes home from there."""

from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.made.sandboxes.works import MergeBody, MergeResult, MergeWay
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import clean, note, say, show_json
from atoll.surfaces.cli.console.waiting import name_of
from atoll.surfaces.cli.dispatch.remote_names import branches
from atoll.surfaces.cli.transfer.merged_branch import CheckoutMerge, bring_merged
from atoll.surfaces.cli.transfer.upload import send_branch


@needs("file.write")
@click.command("merge")
@sandbox_argument()
@click.option("--into", metavar="BRANCH", shell_complete=branches, help="The branch to merge into.")
@click.option("--squash", "way", flag_value="squash", default=True, help="As one commit.")
@click.option("--merge", "way", flag_value="merge", help="By a merge commit.")
@click.option("--rebase", "way", flag_value="rebase", help="Commit by commit.")
@click.option("--title", "-m", metavar="TITLE", help="The first line of the commit.")
@click.option("--commit", is_flag=True, help="Commit first what is not committed inside.")
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@click.option("--push", is_flag=True, help="Push the result to the remote, and leave it there.")
@click.option("--inside", is_flag=True, help="Leave the result in the sandbox.")
@click.option(
    "-C",
    "--checkout",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Your checkout  [default: the current folder]",
)
@click.option("--agent", is_flag=True, help="Let the sandbox's agent resolve a conflict.")
@click.option("--now", is_flag=True, help="Also while an agent is at work.")
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    *,
    into: str | None,
    way: MergeWay,
    title: str | None,
    commit: bool,
    repo: int,
    push: bool,
    inside: bool,
    checkout: Path | None,
    agent: bool,
    now: bool,
    as_json: bool,
) -> None:
    """Merge a sandbox's branch into another branch, and bring that home.

    The branch (default: the one the sandbox's branch began from) gets its newest commits first, and
    the sandbox's branch is rebased onto them; a conflict stops there and is listed. Then BRANCH is
    moved in your checkout. Where it is checked out and nothing is changed there, its files follow.
    """
    if push and (inside or checkout):
        raise click.UsageError("--push takes no --inside or --checkout.")
    api = invocation.api()
    sandbox = api.sandboxes.get(name)
    here = checkout or Path()
    _send(api, sandbox, here, repo=repo, into=into)
    body: MergeBody = {"repo": repo, "into": into, "way": way, "title": title}
    body |= {"commit": commit, "agent": agent, "now": now, "push": push}
    merged = api.sandboxes.merge(sandbox.sandbox_id, body)
    stays = merged.outcome == "conflict" or push or inside
    brought = None if stays else bring_merged(api, sandbox, here, repo=repo, branch=merged.into)
    if as_json:
        show_json({**merged.value, "brought": None if brought is None else brought.commit})
    else:
        _print(name_of(sandbox), merged, brought)
    if merged.outcome == "conflict" and not agent:
        raise click.exceptions.Exit(FAILED)


def _send(api: Client, sandbox: Sandbox, checkout: Path, *, repo: int, into: str | None) -> None:
    """Send the branch to merge into, where the repository is an upload of a checkout."""
    if repo < len(sandbox.repos) and sandbox.repos[repo].key:
        there = sandbox.repos[repo]
        branch = into or there.from_branch or there.branch
        send_branch(api, checkout, branch, key=there.key, say=note)


def _print(name: str, merged: MergeResult, brought: CheckoutMerge | None) -> None:
    into = clean(merged.into)
    if merged.outcome == "conflict":
        _print_conflict(name, merged)
        return
    count = f"{merged.commits} commit{'' if merged.commits == 1 else 's'}"
    say(f"{name}: {count} merged into {into} at {merged.commit[:12]}")
    if merged.pushed:
        note(f"{into} was pushed")
    elif merged.detail:
        note(f"{into} was not pushed: {clean(merged.detail)}")
    if brought is not None:
        note(clean(brought.words))
        for path in brought.flagged:
            note(f"  look at {clean(path)} before you build: it can run something on your machine")


def _print_conflict(name: str, merged: MergeResult) -> None:
    note(f"{name} stopped at a conflict with {clean(merged.into)}; nothing was merged:")
    for path in merged.files:
        note(f"  {clean(path)}")
    if merged.more:
        note(f"  … and {merged.more} more")
    if merged.agent:
        note(f"agent {merged.agent} was asked to resolve it: merge again when it is done")
        return
    note(
        f"let its agent resolve it (`atoll sync {name} --agent`), do it inside (`atoll sync {name} "
        f"--terminal`), or give up (`atoll sync {name} --abort`)"
    )
