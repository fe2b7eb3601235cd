"""`atoll commit`: commit what is not committed in a sandbox."""

import click

from atoll.client.files import WorkingTrees
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import clean, say, show_json
from atoll.surfaces.cli.dispatch.changed_files import changed_paths


@needs("file.write")
@click.command("commit")
@sandbox_argument()
@click.argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=changed_paths())
@click.option(
    "--message", "-m", "messages", multiple=True, required=True, help="A paragraph of the message."
)
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    paths: tuple[str, ...],
    *,
    messages: tuple[str, ...],
    repo: int,
    as_json: bool,
) -> None:
    """Commit what is not committed in a sandbox.

    With PATH only these files or folders of the repository. The commit bears the git identity of
    the sandbox, and no hook of the repository runs.
    """
    trees = WorkingTrees(invocation.api().transport)
    made = trees.commit(name, "\n\n".join(messages), paths=paths, repo=repo)
    if as_json:
        show_json(made.value)
        return
    say(f"{made.commit[:12]} {clean(messages[0].splitlines()[0])}" if messages[0] else made.commit)
