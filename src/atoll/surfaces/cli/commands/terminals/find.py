"""`atoll find`: files of a sandbox, by their names or by what they hold."""

import click

from atoll.client.files import FileSearch
from atoll.client.stream_lines import FoundFile
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, say, show_json

BOUNDS = {
    "matches": "there is more: narrow the search, or raise --limit",
    "files": "there are more files than a search looks at: give --path",
    "bytes": "there is more in the files than a search reads: give --path",
    "time": "the search took too long and ended: give --path",
}
"""Notes by the bound that a search ended at."""


@needs("file.read")
@click.command("find", epilog="The exit code is 1 when nothing was found, as with grep.")
@sandbox_argument()
@click.argument("text")
@click.option("--names", is_flag=True, help="Search in names, not in lines.")
@click.option("--path", metavar="DIR", default=None, help="Only beneath this directory.")
@click.option("--match-case", is_flag=True, help="Upper and lower case differ.")
@click.option("--all", "everything", is_flag=True, help="Also in .git, node_modules and caches.")
@click.option(
    "--limit",
    type=click.IntRange(1, 5000),
    default=1000,
    show_default=True,
    help="At most this many matches.",
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    text: str,
    *,
    names: bool,
    path: str | None,
    match_case: bool,
    everything: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Find files of a sandbox by a text in their lines, or in their names.

    The search runs inside, and prints what it finds as it finds it.
    """
    query = (
        *(("text", text), ("in", "name" if names else "text"), ("limit", str(limit))),
        *((("exact", "true"),) if match_case else ()),
        *((("all", "true"),) if everything else ()),
        *((("path", path),) if path else ()),
    )
    count = 0
    for file in FileSearch(invocation.api().transport).find(name, query):
        if as_json:
            show_json(file.value)
        elif file.type == "end":
            _end(file)
        else:
            say(_grep_line(file))
        count += file.type != "end"
    if not count:
        raise click.exceptions.Exit(FAILED)


def _grep_line(file: FoundFile) -> str:
    """Return the path, and the line as grep prints it."""
    if file.type == "name":
        return file.path
    return f"{file.path}:{file.line}: {file.before}{file.match}{file.after}"


def _end(end: FoundFile) -> None:
    if end.reason in BOUNDS:
        note(BOUNDS[end.reason])
    if end.large:
        note(f"{end.large} large files were not looked into")
    if end.more:
        note(f"more lines of {end.more} files fit than are shown")
