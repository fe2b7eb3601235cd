"""`atoll review`: mark the work in a sandbox as reviewed."""

import click

from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import name_of


@needs("file.write")
@click.command("review")
@sandbox_argument()
@click.option("--undo", is_flag=True, help="Take the review back.")
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, *, undo: bool, as_json: bool) -> None:
    """Mark the work in a sandbox as reviewed.

    The mark lasts until the work changes or an agent works again; a commit of the same changes, and
    a sync without a conflict, keep it.
    """
    sandbox = invocation.api().sandboxes.review(name, {"reviewed": not undo})
    if as_json:
        show_json(sandbox.value)
    else:
        say(f"{name_of(sandbox)} is {'to be reviewed' if undo else 'reviewed'}")
