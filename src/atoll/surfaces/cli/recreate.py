"""`atoll recreate`: a fresh workspace under the same id; unpulled commits are saved first."""

import click

from atoll.surfaces.cli.api import get, post
from atoll.surfaces.cli.exits import FAILED
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.options import json_option, sandbox_argument, yes_option
from atoll.surfaces.cli.output import confirmed, say, show_json
from atoll.surfaces.cli.waiting import name_of, wait_ready


@click.command("recreate")
@sandbox_argument()
@yes_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, *, yes: bool, as_json: bool) -> None:
    """Make a sandbox afresh under the same id, saving its commits first."""
    api = invocation.api()
    sandbox = api.call(get("sandboxes", name))
    question = f"Recreate {name_of(sandbox)}? Files that are not committed are lost."
    if not confirmed(question, yes=yes):
        raise click.exceptions.Exit(FAILED)
    asked = api.call(post("sandboxes", sandbox.text("sandbox_id"), "recreate"))
    ready = wait_ready(api, asked, title=f"recreating {name_of(asked)}")
    if as_json:
        show_json(ready.value)
    else:
        say(f"{name_of(ready)} is {ready.text('state')}, generation {ready.number('generation')}")
