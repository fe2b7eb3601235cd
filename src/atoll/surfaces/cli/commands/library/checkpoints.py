"""`atoll checkpoints`: the files before each turn of an agent."""

import click

from atoll.client.files import WorkingTrees
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, show_json, show_table


@needs("file.read")
@click.command("checkpoints")
@sandbox_argument()
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, *, repo: int, as_json: bool) -> None:
    """List the checkpoints of a sandbox's files.

    One is taken when a turn of an agent begins. `atoll rewind` goes back to one, `atoll diff
    --checkpoint` compares with it.
    """
    listing = WorkingTrees(invocation.api().transport).checkpoints(name, repo)
    if as_json:
        show_json(listing.value)
    elif listing.checkpoints:
        rows = (
            (str(checkpoint.number), age(checkpoint.at), checkpoint.subject)
            for checkpoint in listing.checkpoints
        )
        show_table(("NUMBER", "AGE", "TAKEN"), rows)
    else:
        note(f"{name} has no checkpoints: one is taken when a turn of an agent begins")
