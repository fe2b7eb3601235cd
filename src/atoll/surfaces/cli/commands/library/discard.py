"""`atoll discard`: undo changes of files in a sandbox."""

import click

from atoll.client.files import WorkingTrees
from atoll.client.made.library.changes import ChangedFile, TreeChanges
from atoll.domain.errors import NotFound
from atoll.surfaces.cli.console.diff_lines import file_lines
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, yes_option
from atoll.surfaces.cli.console.output import clean, confirm, say, show_json
from atoll.surfaces.cli.dispatch.changed_files import changed_paths


@needs("file.write")
@click.command("discard")
@sandbox_argument()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, shell_complete=changed_paths())
@click.option("--base", is_flag=True, help="Undo what is committed since its branch began, too.")
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@yes_option()
@json_option()
@pass_invocation
@click.pass_context
def command(
    context: click.Context,
    invocation: Invocation,
    name: str,
    paths: tuple[str, ...],
    *,
    base: bool,
    repo: int,
    yes: bool,
    as_json: bool,
) -> None:
    """Undo the changes of files in a sandbox that are not committed.

    PATH is a changed file or a folder of the repository, `.` all of it. The files are saved as a
    checkpoint first, and `atoll rewind` brings them back.
    """
    trees = WorkingTrees(invocation.api().transport)
    against = "base" if base else "uncommitted"
    changes = trees.changes(name, (("repo", str(repo)), ("against", against)))
    files = _files_named(changes, paths, name)
    if not yes:
        for line in file_lines(files):
            click.echo(line, err=True)
    if not confirm(f"Discard these changes in {name}?", yes=yes):
        context.exit(1)
    saved = [trees.discard(name, file, against=against, repo=repo) for file in files]
    if as_json:
        show_json(saved[0].value)
        return
    say(f"discarded the changes of {len(files)} file{'' if len(files) == 1 else 's'} in {name}")
    say(f"`atoll rewind {name} {saved[0].saved}` brings them back")


def _files_named(changes: TreeChanges, paths: tuple[str, ...], name: str) -> list[ChangedFile]:
    """Return the changed files that the paths name. Raises `NotFound` for a path without any."""
    chosen: dict[str, ChangedFile] = {}
    for path in paths:
        plain = path.removeprefix("./").rstrip("/")
        here = [
            file
            for file in changes.files
            if not file.path.endswith("/")
            and (plain in {"", ".", file.path} or file.path.startswith(f"{plain}/"))
        ]
        if not here:
            raise NotFound(
                f"{clean(path)} has no changes in {name}: `atoll diff {name} --stat` lists them"
            )
        chosen.update((file.path, file) for file in here)
    return list(chosen.values())
