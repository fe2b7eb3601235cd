"""`atoll rewind`: bring a sandbox's files back to a checkpoint."""

import click

from atoll.client.files import WorkingTrees
from atoll.surfaces.cli.console.diff_lines import stat_lines
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, yes_option
from atoll.surfaces.cli.console.output import confirm, say, show_json


@needs("file.write")
@click.command("rewind")
@sandbox_argument()
@click.argument("number", type=click.IntRange(min=1))
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@yes_option()
@json_option()
@pass_invocation
@click.pass_context
def command(
    context: click.Context,
    invocation: Invocation,
    name: str,
    number: int,
    *,
    repo: int,
    yes: bool,
    as_json: bool,
) -> None:
    """Bring a sandbox's files and branch back to a checkpoint.

    NUMBER is one of `atoll checkpoints`. The present files are saved as a checkpoint first, and
    files that git ignores stay as they are.
    """
    trees = WorkingTrees(invocation.api().transport)
    query = (("repo", str(repo)), ("against", "turn"), ("checkpoint", str(number)))
    if not yes:
        for line in stat_lines(trees.changes(name, query)):
            click.echo(line, err=True)
    if not confirm(f"Undo these changes in {name}?", yes=yes):
        context.exit(1)
    restored = trees.restore(name, number, repo)
    if as_json:
        show_json(restored.value)
        return
    say(f"{name} is back at checkpoint {number}")
    say(f"`atoll rewind {name} {restored.saved}` undoes that")
