"""`atoll pull`: a sandbox's commits, into a branch of the person's own checkout."""

from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.fields import Json
from atoll.domain.errors import Conflict
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.console.references import whole_name
from atoll.surfaces.cli.dispatch.remote_names import branches, inner_branches
from atoll.surfaces.cli.transfer.held_push import bring_pushed, drop_pushed, show_pushes
from atoll.surfaces.cli.transfer.local_repo import lacking_submodules
from atoll.surfaces.cli.transfer.ordered_pulls import watch_pulls
from atoll.surfaces.cli.transfer.pulled_branch import BranchRequest, PulledBranch, pull
from atoll.surfaces.cli.transfer.saved_work import bring_saved, list_saved, print_saved


@needs("repository.read")
@click.command("pull", epilog="Nothing of the sandbox runs here: no hook, filter or setting.")
@sandbox_argument(required=False)
@click.argument("branch", required=False, shell_complete=branches)
@click.option(
    "--from",
    "source",
    metavar="BRANCH",
    default=None,
    shell_complete=inner_branches,
    help="The branch inside.",
)
@click.option("--repo", type=click.IntRange(0, 99), default=0, help="Which repository, from 0.")
@click.option(
    "-C",
    "--checkout",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Your checkout  [default: the current folder]",
)
@click.option(
    "--force", is_flag=True, help="Take commits off BRANCH; overwrite a mirror's changes."
)
@click.option(
    "--with-repositories", is_flag=True, help="Accept commits that contain a git repository."
)
@click.option("--uncommitted", is_flag=True, help="With what is not committed, as one commit more.")
@click.option("--saved", is_flag=True, help="Fetch the work that `recreate` saved instead.")
@click.option(
    "--pushed",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[BRANCH]",
    help="Fetch a branch that was pushed inside; without BRANCH, list them.",
)
@click.option("--watch", is_flag=True, help="Wait here for pulls that are ordered on the page.")
@click.option("--drop", is_flag=True, help="With --pushed: delete it instead.")
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str | None,
    branch: str | None,
    *,
    watch: bool,
    pushed: str | None,
    drop: bool,
    source: str | None,
    repo: int,
    checkout: Path | None,
    force: bool,
    with_repositories: bool,
    uncommitted: bool,
    saved: bool,
    as_json: bool,
) -> None:
    """Bring a sandbox's commits into a branch of your checkout.

    BRANCH is made or moved forward (default: the name it has inside). Your working tree and
    the branch you are on stay as they are. Of a sandbox made with --mirror, the files that changed
    inside come back into the folder it mirrors (-C names it where it was not sent from here).
    With --saved, branches below atoll/saved/NAME hold what `recreate` saved. With --pushed, it is a
    branch that was pushed inside and waits for you. With --watch, pulls are ordered on the page.
    """
    api = invocation.api()
    if watch:
        watch_pulls(api, checkout or Path())
        return
    if name is None and pushed:
        # `--pushed NAME`: what follows the option is the name, where there is no other.
        name, pushed = whole_name(lambda: api, pushed), ""
    if name is None:
        raise click.UsageError("`atoll pull` needs NAME: see `atoll pull --help`")
    _check(pushed, saved=saved, drop=drop, chosen=bool(branch or source or force or uncommitted))
    here = checkout or Path()
    wanted = BranchRequest(repo, pushed or source, force, with_repositories, uncommitted)
    if pushed is not None:
        _bring_held_push(api, name, here, wanted=wanted, into=branch, drop=drop, as_json=as_json)
        return
    if saved:
        _bring_saved(api, name, here, wanted=wanted, as_json=as_json)
        return
    sandbox = api.sandboxes.get(name)
    if sandbox.workspace.mode == "mirror":
        mirror = sandbox.sandbox_id
        _bring_back(invocation, mirror, into=checkout, force=force, as_json=as_json)
        return
    _bring(api, name, here, wanted=wanted, into=branch, as_json=as_json)


def _check(pushed: str | None, *, saved: bool, drop: bool, chosen: bool) -> None:
    if saved and (chosen or pushed is not None):
        raise click.UsageError(
            "--saved chooses its own branches: leave out BRANCH and the other options."
        )
    if drop and not pushed:
        raise click.UsageError("--drop needs --pushed BRANCH.")


def _bring(
    api: Client,
    name: str,
    checkout: Path,
    *,
    wanted: BranchRequest,
    into: str | None,
    as_json: bool,
) -> None:
    try:
        pulled = pull(api, name, checkout, wanted=wanted, into=into)
    except Conflict as error:
        if error.code != "nothing_new":
            raise
        note(f"{name} has no commits that your checkout lacks")
        pulled = PulledBranch(into or "", "", 0, ())
    if as_json:
        show_json(_branch_json(pulled))
    elif pulled.commit:
        _print_branch(pulled)
        for path in lacking_submodules(checkout, pulled.commit):
            note(
                f"{path} is at a commit that only the sandbox has: push it there, by `atoll exec "
                f"{name} --shell 'cd {path} && git push origin HEAD:BRANCH'`"
            )


def _bring_held_push(
    api: Client,
    name: str,
    checkout: Path,
    *,
    wanted: BranchRequest,
    into: str | None,
    drop: bool,
    as_json: bool,
) -> None:
    if not wanted.branch:
        pushes = api.sandboxes.pushes(name).pushes
        if as_json:
            show_json({"pushes": [push.value for push in pushes]})
        elif pushes:
            show_pushes(pushes)
        else:
            note(f"{name} holds no pushed branch")
        return
    if drop:
        dropped = drop_pushed(api, name, wanted)
        if as_json:
            show_json({"dropped": dropped.value})
        else:
            say(f"dropped the held branch {dropped.branch}")
        return
    pulled = bring_pushed(api, name, checkout, wanted=wanted, into=into)
    if as_json:
        show_json(_branch_json(pulled))
    else:
        _print_branch(pulled)


def _bring_saved(
    api: Client, name: str, checkout: Path, *, wanted: BranchRequest, as_json: bool
) -> None:
    saved = list_saved(api, name)
    brought = bring_saved(api, name, checkout, wanted=wanted)
    if as_json:
        whole: list[Json] = [work.kept_id for work in saved if work.tree]
        show_json({"saved": [_branch_json(branch) for branch in brought], "trees": whole})
    else:
        print_saved(name, saved, brought)


def _bring_back(
    invocation: Invocation, sandbox_id: str, *, into: Path | None, force: bool, as_json: bool
) -> None:
    from atoll.surfaces.cli.transfer.mirror import bring_back

    brought = bring_back(invocation.api(), invocation.environ, sandbox_id, into=into, force=force)
    brought.notices.print()
    if as_json:
        show_json(brought.value())
        return
    for path in brought.written:
        say(f"wrote {path}")
    for path in brought.removed:
        say(f"removed {path}")
    if not (brought.written or brought.removed):
        note("nothing changed inside")


def _branch_json(pulled: PulledBranch) -> dict[str, Json]:
    return {
        "branch": pulled.branch,
        "commit": pulled.commit or None,
        "commits": pulled.commits,
        "flagged": list(pulled.flagged),
        "kept": pulled.kept,
    }


def _print_branch(pulled: PulledBranch) -> None:
    more = f"{pulled.commits} new commit{'' if pulled.commits == 1 else 's'}"
    say(f"{pulled.branch} is at {pulled.commit[:12]}: {more}")
    if pulled.kept:
        note(f"what {pulled.branch} was is kept: git log {pulled.kept}")
    if pulled.flagged:
        note("look at these before you build or merge; they can run something on your machine:")
        for path in pulled.flagged:
            note(f"  {path}")
