"""`atoll prune`: destroy what is over (failed, expired, and stopped when asked)."""

import click

from atoll.domain.duration import parse_duration
from atoll.surfaces.cli.answer import Answer, Json
from atoll.surfaces.cli.api import get, post
from atoll.surfaces.cli.exits import FAILED
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.list import age, seconds_since
from atoll.surfaces.cli.options import json_option, yes_option
from atoll.surfaces.cli.output import confirmed, note, say, show_json, show_table
from atoll.surfaces.cli.waiting import name_of

OVER = ("failed", "expired")


@click.command("prune")
@click.option("--older-than", default="0s", help="Only those unchanged for so long: 30m, 4h, 2d.")
@click.option("--stopped", is_flag=True, help="Stopped ones as well.")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@yes_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    *,
    older_than: str,
    stopped: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Destroy sandboxes nobody needs any more."""
    least = _seconds(older_than)
    states = (*OVER, "stopped") if stopped else OVER
    api = invocation.api()
    query = tuple(("state", state) for state in states)
    rows = api.pages(get("sandboxes", query=query), "sandboxes")
    found = [row for row in rows if row.text("state") in states and _idle(row) >= least]
    if not found:
        _show(found, as_json=as_json)
        return
    if not as_json:
        show_table(("NAME", "STATE", "SINCE"), [_row(sandbox) for sandbox in found])
    if dry_run:
        _show(found, as_json=as_json, quiet=True)
        return
    if not confirmed(f"Destroy these {len(found)}? Work that was not pulled is lost.", yes=yes):
        raise click.exceptions.Exit(FAILED)
    gone = [
        api.call(post("sandboxes", row.text("sandbox_id"), "destroy", query=(("wait", "true"),)))
        for row in found
    ]
    _show(gone, as_json=as_json)


def _show(found: list[Answer], *, as_json: bool, quiet: bool = False) -> None:
    if as_json:
        values: list[Json] = [sandbox.value for sandbox in found]
        show_json({"sandboxes": values})
    elif not found:
        note("nothing to prune")
    elif not quiet:
        say(f"destroyed {len(found)}")


def _seconds(text: str) -> int:
    if text in ("0", "0s"):
        return 0
    try:
        return parse_duration(text)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="--older-than") from problem


def _idle(sandbox: Answer) -> int:
    return seconds_since(sandbox.text("updated_at")) or 0


def _row(sandbox: Answer) -> tuple[str, str, str]:
    return name_of(sandbox), sandbox.text("state"), age(sandbox.text("updated_at"))
