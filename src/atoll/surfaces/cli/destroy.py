"""`atoll destroy`: take sandboxes away, after asking."""

import click

from atoll.domain.errors import NotFound
from atoll.surfaces.cli.answer import Answer, Json
from atoll.surfaces.cli.api import Api, get, post
from atoll.surfaces.cli.exits import FAILED
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.options import json_option, sandboxes_argument, yes_option
from atoll.surfaces.cli.output import confirmed, say, show_json
from atoll.surfaces.cli.picker import can_ask, pick_several
from atoll.surfaces.cli.selection import row_of
from atoll.surfaces.cli.waiting import name_of


@click.command("destroy")
@sandboxes_argument(required=False)
@click.option("--keep-worktree", is_flag=True, help="Keep the workspace's files on the host.")
@yes_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    names: tuple[str, ...],
    *,
    keep_worktree: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Take sandboxes away for good."""
    api = invocation.api()
    # All are looked up before anyone is asked: a misspelled name destroys nothing.
    found = [api.call(get("sandboxes", name)) for name in names] or _chosen(api)
    listed = ", ".join(name_of(sandbox) for sandbox in found)
    lost = "" if keep_worktree else " Work that was not pulled is lost."
    if not confirmed(f"Destroy {listed}?{lost}", yes=yes):
        raise click.exceptions.Exit(FAILED)
    query = (("wait", "true"), *((("keep_worktree", "true"),) if keep_worktree else ()))
    ended: list[Json] = []
    for sandbox in found:
        answered = api.call(post("sandboxes", sandbox.text("sandbox_id"), "destroy", query=query))
        ended.append(answered.value)
        if not as_json:
            say(f"{name_of(answered)} is {answered.text('state')}")
    if as_json:
        show_json({"sandboxes": ended})


def _chosen(api: Api) -> list[Answer]:
    """Those a person chooses from the list. Raises a usage error when nobody can be asked."""
    if not can_ask():
        raise click.UsageError("Missing argument 'NAME...'.")
    there = list(api.pages(get("sandboxes"), "sandboxes"))
    if not there:
        raise NotFound("there is no sandbox")
    chosen = pick_several("Destroy which (numbers)", [row_of(sandbox) for sandbox in there])
    return [there[index] for index in chosen]
