"""`atoll diff`: the changes in a sandbox, line by line."""

from collections.abc import Sequence
from posixpath import normpath

import click

from atoll.client.files import WorkingTrees
from atoll.client.made.library.changes import ChangedFile, FileDiff
from atoll.surfaces.cli.console.diff_lines import diff_lines, page, stat_lines
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, show_json
from atoll.surfaces.cli.dispatch.changed_files import changed_paths


@needs("file.read")
@click.command("diff")
@sandbox_argument()
@click.argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=changed_paths("base"))
@click.option("--stat", is_flag=True, help="Only list the files, with their counts of lines.")
@click.option("--turn", is_flag=True, help="Compare with the files before the agent's last turn.")
@click.option(
    "--checkpoint", type=click.IntRange(min=1), default=None, help="Compare with this checkpoint."
)
@click.option("--uncommitted", is_flag=True, help="Compare with the last commit.")
@click.option("--repo", type=click.IntRange(0, 15), default=0, help="Which repository, from 0.")
@click.option("--ignore-whitespace", "-w", is_flag=True, help="Leave out changes of blanks.")
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    paths: tuple[str, ...],
    *,
    stat: bool,
    turn: bool,
    checkpoint: int | None,
    uncommitted: bool,
    repo: int,
    ignore_whitespace: bool,
    as_json: bool,
) -> None:
    """Show what changed in a sandbox.

    Its files are compared with the commit its branch began from: commits, uncommitted changes and
    new files together. PATH limits it to files or folders of the repository.
    """
    if turn + uncommitted + (checkpoint is not None) > 1:
        raise click.UsageError("give one of --turn, --checkpoint and --uncommitted")
    against = "uncommitted" if uncommitted else "turn" if turn or checkpoint else "base"
    numbered = () if checkpoint is None else (("checkpoint", str(checkpoint)),)
    named = (("path", path) for path in paths)
    query = (("repo", str(repo)), ("against", against), *numbered, *named)
    trees = WorkingTrees(invocation.api().transport)
    if stat:
        changes = trees.changes(name, query)
        if as_json:
            show_json(changes.value)
        else:
            page(stat_lines(changes), invocation.environ)
            _name_unchanged(paths, changes.files, whole=len(changes.files) >= changes.total)
        return
    blanks = (("whitespace", "false"),) if ignore_whitespace else ()
    diff = trees.diff(name, (*query, *blanks))
    if as_json:
        show_json(diff.value)
        return
    if not diff.files and all(normpath(path) == "." for path in paths):
        note("nothing changed")
    page((line for file in diff.files for line in diff_lines(file)), invocation.environ)
    if diff.truncated:
        note("the diff is too long to be shown whole: name files to see more of it")
    _name_unchanged(paths, diff.files, whole=not diff.truncated)


def _name_unchanged(
    paths: Sequence[str], files: Sequence[ChangedFile | FileDiff], *, whole: bool
) -> None:
    """Name the paths at which nothing changed, where the list of files is whole."""
    changed = [name for file in files for name in (file.path, file.old_path) if name]
    for path in paths if whole else ():
        place = normpath(path)
        if place != "." and not any(f"{name}/".startswith(f"{place}/") for name in changed):
            note(f"{path} has no changes, or is not there: paths begin at the repository's top")
