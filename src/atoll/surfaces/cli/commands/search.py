"""`atoll search`: find a line in what a sandbox's terminals have shown."""

import click

from atoll.client.made.recordings import Match
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.console.references import terminal_id
from atoll.surfaces.cli.dispatch.remote_names import terminals


@needs("recording.read")
@click.command("search", epilog="The exit code is 1 when nothing was found, as with grep.")
@sandbox_argument()
@click.argument("pattern")
@click.option("--glob", is_flag=True, help="`*` stands for anything, `?` for one character.")
@click.option("--match-case", is_flag=True, help="Upper and lower case differ.")
@click.option(
    "--terminal",
    metavar="ID",
    default=None,
    shell_complete=terminals,
    help="This terminal and its recordings.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=100,
    show_default=True,
    help="At most this many lines.",
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    pattern: str,
    *,
    glob: bool,
    match_case: bool,
    terminal: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Find lines in terminals, as far back as they reach, and in recordings."""
    api = invocation.api()
    query = (
        ("q", pattern),
        ("limit", str(limit)),
        ("syntax", "glob" if glob else "literal"),
        ("match_case", "true" if match_case else "false"),
        *((("terminal", terminal_id(api, name, terminal)),) if terminal else ()),
    )
    page = api.terminals.search(name, query)
    matches = page.matches
    if as_json:
        show_json(page.value)
    else:
        for match in matches:
            say(_match_line(match))
        if not page.complete:
            note("there is more: narrow the search, or raise --limit")
    if not matches:
        raise click.exceptions.Exit(FAILED)


def _match_line(match: Match) -> str:
    """Return a match on one line: its place, the command that ran, and the text."""
    seconds = match.value.get("seconds")
    if isinstance(seconds, int | float):
        where = f"{match.recording_id} {int(seconds) // 60}:{int(seconds) % 60:02d}"
    else:
        where = f"{match.terminal_id} @{match.offset}"
    ran = match.value.get("command")
    during = f" [{ran[:60]}]" if isinstance(ran, str) and ran else ""
    return f"{where}{during}  {match.text}"
