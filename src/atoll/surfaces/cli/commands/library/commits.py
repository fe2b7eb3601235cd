"""`atoll commits`: the commits of a sandbox's branches, and what one of them changed."""

import click

from atoll.client.made.library.commits import CommitPage, Commits
from atoll.surfaces.cli.console.diff_lines import diff_lines, page
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, utc_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.remote_names import commits

SHORT = 10


@needs("file.read")
@click.command("commits")
@sandbox_argument()
@click.argument("commit", required=False, shell_complete=commits)
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@click.option(
    "--limit",
    type=click.IntRange(1, 200),
    default=30,
    show_default=True,
    help="At most this many commits.",
)
@utc_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation, name: str, commit: str | None, *, repo: int, limit: int, as_json: bool
) -> None:
    """List the commits of a sandbox's branches, or show COMMIT with what it changed."""
    api = Commits(invocation.api().transport)
    if commit is not None:
        _show(invocation, api, name, commit=commit, repo=repo, as_json=as_json)
        return
    log = api.list(name, (("repo", str(repo)), ("limit", str(limit))))
    if as_json:
        show_json(log.value)
        return
    show_table(("COMMIT", "AGE", "AUTHOR", "SUBJECT"), _rows(log), flexible=("SUBJECT", "AUTHOR"))
    if log.next:
        note("there are more: raise --limit")


def _show(
    invocation: Invocation, api: Commits, name: str, *, commit: str, repo: int, as_json: bool
) -> None:
    shown = api.show(name, commit, repo)
    if as_json:
        show_json(shown.value)
        return
    entry = shown.commit
    say(f"commit {entry.commit}")
    say(f"{entry.author} <{entry.email}>, {age(entry.at)} ago")
    for line in ("", *shown.message.rstrip().splitlines(), ""):
        say(f"    {line}" if line else "")
    page((line for file in shown.files for line in diff_lines(file)), invocation.environ)
    if shown.truncated:
        note("the diff is too long to be shown whole")


def _rows(log: CommitPage) -> list[tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    for ref in log.refs:
        names.setdefault(ref.commit, []).append(ref.name)
    rows: list[tuple[str, ...]] = []
    for commit in log.commits:
        marks = names.get(commit.commit, [])
        at = f"({', '.join(marks)}) " if marks else ""
        rows.append((commit.commit[:SHORT], age(commit.at), commit.author, f"{at}{commit.subject}"))
    return rows
