"""`atoll destroy`: take sandboxes away, after asking."""

import click

from atoll.surfaces.cli.answer import Json
from atoll.surfaces.cli.api import get, post
from atoll.surfaces.cli.exits import FAILED
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.options import json_option, sandboxes_argument, yes_option
from atoll.surfaces.cli.output import confirmed, say, show_json
from atoll.surfaces.cli.waiting import name_of


@click.command("destroy")
@sandboxes_argument()
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
    found = [api.call(get("sandboxes", name)) for name in names]
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
