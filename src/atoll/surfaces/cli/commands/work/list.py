"""`atoll list`: the sandboxes there are, newest first."""

import click

from atoll.client.shapes import Sandbox
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.options import json_option, utc_option
from atoll.surfaces.cli.console.output import note, show_json, show_table
from atoll.surfaces.cli.console.waiting import end_notice, name_of


@click.command("list")
@click.option("--state", "states", multiple=True, help="Only these states; may be repeated.")
@utc_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, *, states: tuple[str, ...], as_json: bool) -> None:
    """List the sandboxes."""
    found = list(invocation.api().sandboxes.list(states=states))
    if as_json:
        show_json({"sandboxes": [row.value for row in found], "next": None})
    elif found:
        show_table(("NAME", "STATE", "AGE", "PROFILE", "AGENT", "REPOSITORY"), map(_row, found))
        for words in filter(None, map(end_notice, found)):
            note(words)
    else:
        note("no sandboxes: make one with `atoll new`")


def _row(sandbox: Sandbox) -> tuple[str, ...]:
    metadata = sandbox.metadata
    repository = metadata.repo_url.rsplit("/", 1)[-1].removesuffix(".git")
    branch = metadata.branch
    return (
        name_of(sandbox),
        _state(sandbox),
        age(sandbox.created_at),
        sandbox.profile.id.removeprefix("profile."),
        sandbox.agent or "-",
        f"{repository}@{branch}" if repository and branch else repository or "-",
    )


def _state(sandbox: Sandbox) -> str:
    marks = ["exposed"] if sandbox.exposed_secrets else []
    if sandbox.ends_soon:
        marks.append("ends soon")
    return sandbox.state + (f" ({', '.join(marks)})" if marks else "")
