"""`atoll prune`: destroy what is over (failed, expired, and stopped when asked)."""

from dataclasses import dataclass

import click

from atoll.client.fields import Json
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.duration import parse_duration
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age, seconds_since
from atoll.surfaces.cli.console.options import json_option, lose_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.waiting import name_of
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.transfer.keeping import forget, records
from atoll.surfaces.cli.transfer.unpulled import find_unpulled, leave_out_unknown, print_work

OVER = ("failed", "expired")


@needs("sandbox.manage")
@click.command("prune")
@click.option("--older-than", default="0s", help="Only those unchanged for this long: 30m, 4h, 2d.")
@click.option("--stopped", is_flag=True, help="Stopped sandboxes, too.")
@click.option(
    "--kept", "worktrees", is_flag=True, help="Delete files that destroyed sandboxes left instead."
)
@click.option("--dry-run", is_flag=True, help="Only list them.")
@yes_option()
@lose_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    *,
    older_than: str,
    stopped: bool,
    worktrees: bool,
    dry_run: bool,
    yes: bool,
    lose_work: bool,
    as_json: bool,
) -> None:
    """Destroy sandboxes that nobody needs any more."""
    least = _seconds(older_than)
    if worktrees:
        _prune_kept(invocation, least, PruneOptions(yes=yes, dry_run=dry_run, as_json=as_json))
        return
    states = (*OVER, "stopped") if stopped else OVER
    api = invocation.api()
    rows = api.sandboxes.list(states=states)
    sandboxes = [row for row in rows if row.state in states and _idle_seconds(row) >= least]
    if not sandboxes:
        _show(sandboxes, as_json=as_json)
        return
    if not as_json:
        show_table(("NAME", "STATE", "SINCE"), [_sandbox_row(sandbox) for sandbox in sandboxes])
    works = [find_unpulled(api, sandbox) for sandbox in sandboxes]
    for work in works:
        print_work(work, gone=True)
    if dry_run:
        _show(sandboxes, as_json=as_json, quiet=True)
        return
    going = leave_out_unknown(sandboxes, works, yes=yes, lose=lose_work)
    lost = " The work that was not pulled is lost." if any(works) else ""
    if going and not confirm(f"Destroy these {len(going)}?{lost}", yes=yes or lose_work):
        raise click.exceptions.Exit(FAILED)
    several = Several(invocation, len(going))
    gone = several.each(going, lambda row: api.sandboxes.destroy(row.sandbox_id), name=name_of)
    _show(gone, as_json=as_json)
    several.end()
    if len(gone) < len(sandboxes):
        raise click.exceptions.Exit(FAILED)


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """Options of a prune."""

    yes: bool
    dry_run: bool
    as_json: bool


def _prune_kept(invocation: Invocation, least: int, manner: PruneOptions) -> None:
    """Delete kept worktrees of the server and of this machine."""
    api = invocation.api()
    there = [work for work in api.kept.list().kept if (seconds_since(work.kept_at) or 0) >= least]
    here = [
        record for record in records(invocation.environ) if (seconds_since(record.at) or 0) >= least
    ]
    paths = [*(f"server: {entry.path}" for entry in there), *(entry.path for entry in here)]
    if not paths:
        note("nothing to prune")
    elif not manner.as_json:
        for path in paths:
            say(path)
    if paths and not manner.dry_run:
        if not confirm(f"Delete these {len(paths)} for good?", yes=manner.yes):
            raise click.exceptions.Exit(FAILED)
        several = Several(invocation, len(there))
        several.each([work.kept_id for work in there], api.kept.delete)
        forget(invocation.environ, here)
        several.end()
    if manner.as_json:
        show_json({"kept": list(paths)})


def _show(sandboxes: list[Sandbox], *, as_json: bool, quiet: bool = False) -> None:
    if as_json:
        values: list[Json] = [sandbox.value for sandbox in sandboxes]
        show_json({"sandboxes": values})
    elif not sandboxes:
        note("nothing to prune")
    elif not quiet:
        say(f"destroyed {len(sandboxes)}")


def _seconds(text: str) -> int:
    if text in ("0", "0s"):
        return 0
    try:
        return parse_duration(text)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="--older-than") from problem


def _idle_seconds(sandbox: Sandbox) -> int:
    return seconds_since(sandbox.updated_at) or 0


def _sandbox_row(sandbox: Sandbox) -> tuple[str, str, str]:
    return name_of(sandbox), sandbox.state, age(sandbox.updated_at)
