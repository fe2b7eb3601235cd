"""`atoll sync`: a person's newer commits, brought into a sandbox that is rebased onto them."""

import time
from pathlib import Path
from typing import Literal

import click

from atoll.client.client import Client
from atoll.client.made.library.syncs import Sync, SyncBody
from atoll.client.made.sandboxes.views import Repo, Sandbox
from atoll.domain.errors import Conflict, Invalid
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.console.waiting import name_of
from atoll.surfaces.cli.dispatch.remote_names import branches
from atoll.surfaces.cli.transfer.upload import send_branch

BETWEEN_LOOKS = 2.0
"""Seconds between two attempts while an agent works."""

SHELL = '"${SHELL:-/bin/sh}"'


@needs("file.write")
@click.command("sync")
@sandbox_argument()
@click.option(
    "--onto",
    metavar="BRANCH",
    default=None,
    shell_complete=branches,
    help="Your branch to rebase onto.",
)
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@click.option(
    "-C",
    "--checkout",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Your checkout  [default: the current folder]",
)
@click.option("--rebase", is_flag=True, help="Rebase the sandbox's branch (the default).")
@click.option("--agent", is_flag=True, help="Let the sandbox's agent resolve a conflict.")
@click.option("--terminal", is_flag=True, help="Open a terminal at a conflict.")
@click.option("--now", is_flag=True, help="Do not wait for an agent that is at work.")
@click.option("--abort", is_flag=True, help="Give up a rebase that stopped at a conflict.")
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    *,
    onto: str | None,
    repo: int,
    checkout: Path | None,
    rebase: bool,
    agent: bool,
    terminal: bool,
    now: bool,
    abort: bool,
    as_json: bool,
) -> None:
    """Bring your newer commits into a sandbox.

    The commits of your branch (default: the one the sandbox's branch began from) are sent, or
    fetched from the remote, and the sandbox's branch is rebased onto them inside. Changes that are
    not committed there are put aside and back. A conflict stops the rebase and is listed. While an
    agent is at work there, this waits until its turn is over.
    """
    if abort and any((agent, rebase, onto, terminal)):
        raise click.UsageError("--abort takes no --agent, --terminal, --rebase or --onto.")
    if terminal and (agent or as_json):
        raise click.UsageError("--terminal takes no --agent or --json.")
    api = invocation.api()
    sandbox = api.sandboxes.get(name)
    act: Literal["abort", "rebase"] = "abort" if abort else "rebase"
    body: SyncBody = {"repo": repo, "act": act, "agent": agent, "now": now}
    if onto is not None:
        body["onto"] = onto
    if not abort:
        _send(api, sandbox, checkout or Path(), repo=repo, onto=onto)
    done = _sync_when_idle(api, sandbox, body)
    show_json(done.value) if as_json else _print_sync(sandbox, done)
    if done.outcome == "conflict" and not agent:
        code = _resolve(invocation, sandbox, repo) if terminal else FAILED
        raise click.exceptions.Exit(code)


def _sync_when_idle(api: Client, sandbox: Sandbox, body: SyncBody) -> Sync:
    """Sync, once no agent works there any more. Ctrl-C leaves the sandbox as it is."""
    reported = False
    while True:
        try:
            return api.sandboxes.sync(sandbox.sandbox_id, body)
        except Conflict as error:
            if error.code != "agent_works":
                raise
            if not reported:
                note(f"waiting: {error.message}")
            reported = True
            time.sleep(BETWEEN_LOOKS)


def _resolve(invocation: Invocation, sandbox: Sandbox, repo: int) -> int:
    """Open a terminal in the repository with the conflict; returns its exit code."""
    from atoll.surfaces.cli.commands.terminals.exec import at_terminal

    path = sandbox.repos[repo].path
    line = f"git status; exec {SHELL}"
    return at_terminal(invocation, sandbox.sandbox_id, {"shell": line, "cwd": path})


def _send(api: Client, sandbox: Sandbox, checkout: Path, *, repo: int, onto: str | None) -> None:
    """Send the branch, where the sandbox's repository is an upload of a checkout."""
    there: list[Repo] = list(sandbox.repos)
    if repo >= len(there):
        raise Invalid(f"{name_of(sandbox)} has no repository number {repo}.")
    if there[repo].key:
        branch = onto or there[repo].from_branch or there[repo].branch
        send_branch(api, checkout, branch, key=there[repo].key, say=note)


def _print_sync(sandbox: Sandbox, done: Sync) -> None:
    name = name_of(sandbox)
    match done.outcome:
        case "updated":
            more = f"{done.commits} newer commit{'' if done.commits == 1 else 's'} of {done.onto}"
            say(f"{name} is at {done.commit[:12]}, on top of {more}")
        case "current":
            say(f"{name} has all of {done.onto} already")
        case "aborted":
            say(f"{name} is back at {done.commit[:12]}")
        case "clean":
            note(f"{name} has no rebase to give up")
        case _:
            _print_conflict(name, done)
    if done.stashed:
        note("its uncommitted changes did not fit: they are in `git stash` inside")


def _print_conflict(name: str, done: Sync) -> None:
    if not done.files:
        note(
            f"{name} stopped in the middle of a rebase, and no file is in conflict any more: `git "
            f"rebase --continue` inside ends it, `atoll sync {name} --abort` gives it up"
        )
        return
    note(f"{name} stopped in the middle of a rebase; these files are in conflict:")
    for path in done.files:
        note(f"  {path}")
    if done.more:
        note(f"  … and {done.more} more")
    if done.agent:
        note(f"agent {done.agent} was asked to resolve them")
    else:
        note(
            f"resolve them inside (`atoll sync {name} --terminal`), let its agent do it (`atoll "
            f"sync {name} --agent`), or give up (`atoll sync {name} --abort`)"
        )
