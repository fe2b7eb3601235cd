"""`atoll kept`: what gone and recreated sandboxes left, on the server and on this machine."""

import shlex
from pathlib import Path

import click

from atoll.client.fields import Json
from atoll.client.made.library.kept import Kept
from atoll.client.transport import Call, api_path
from atoll.domain.errors import Invalid
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.console.references import KEPT, pick_id
from atoll.surfaces.cli.transfer.keeping import Record, WorkSource, records, write_down


@needs("sandbox.read")
@click.command("kept")
@click.argument(
    "kept_id",
    metavar="[ID]",
    required=False,
    shell_complete=candidates.kept_trees(),
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Fetch into this new folder  [default: ~/atoll-kept/NAME]",
)
@json_option()
@pass_invocation
def command(invocation: Invocation, *, kept_id: str | None, to: Path | None, as_json: bool) -> None:
    """List what destroyed and recreated sandboxes left, and fetch them from the server.

    Without ID it lists what the server keeps and what was written on this machine; with ID the
    server's files are written here, with a bundle of the new commits beside them.
    """
    if kept_id is not None:
        _fetch(invocation, kept_id, to, as_json=as_json)
        return
    if to is not None:
        raise click.UsageError("--to needs the ID of what to fetch.")
    there = invocation.api().kept.list().kept
    here = records(invocation.environ)
    if as_json:
        local: list[Json] = [
            {"name": record.name, "at": record.at, **record.value()} for record in here
        ]
        show_json({"kept": [work.value for work in there], "here": local})
    elif there or here:
        rows = [*map(_row_there, there), *map(_row_here, here)]
        show_table(("SANDBOX", "ID", "AGE", "MIB", "WHERE"), rows)
    else:
        note("nothing is kept: `atoll destroy NAME --keep-worktree` keeps a sandbox's files")


def _fetch(invocation: Invocation, kept_id: str, to: Path | None, *, as_json: bool) -> None:
    api = invocation.api()
    kept_id = pick_id(KEPT, kept_id, lambda: map(_names, api.kept.list().kept))
    work = api.kept.get(kept_id)
    named = work.sandbox_name
    if work.pushed:
        # Its id, for the name of a destroyed sandbox means nothing any more.
        how = f"atoll pull {work.sandbox_id} --pushed {shlex.quote(work.pushed)}"
        raise Invalid(f"{kept_id} is a held push of {named}: `{how}`")
    if not work.tree:
        raise Invalid(f"{kept_id} is saved work of {named}: `atoll pull {named} --saved` brings it")
    numbers = [int(number) for number in work.bundles]
    bundles = tuple(
        (number, Call("GET", api_path("kept", kept_id, "bundle"), (("repo", str(number)),)))
        for number in numbers
    )
    source = WorkSource(Call("GET", api_path("kept", kept_id, "archive")), work.bytes, bundles)
    record = write_down(invocation, work.sandbox_name, source, to=to)
    if as_json:
        show_json(record.value())
        return
    for path in (record.path, *record.bundles):
        say(f"wrote {path}")


def _names(work: Kept) -> tuple[str, ...]:
    """Return what a kept tree is named by: the sandbox's name means its files alone."""
    files = work.tree and not work.pushed
    return (work.kept_id, work.sandbox_name if files else "")


def _row_there(work: Kept) -> tuple[str, ...]:
    size = str(-(-work.bytes // 2**20))
    where = f"pushed: {work.pushed}" if work.pushed else f"server: {work.path}"
    name, kept_id = work.sandbox_name, work.kept_id
    return name, kept_id, age(work.kept_at), size, where


def _row_here(record: Record) -> tuple[str, ...]:
    return record.name, "-", age(record.at), "-", record.path
