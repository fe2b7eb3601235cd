"""`atoll list`: the sandboxes there are, newest first, and what their agents do."""

import sys
import time

import click

from atoll.client.client import Client
from atoll.client.fields import Json
from atoll.client.shapes import Sandbox
from atoll.domain.errors import Unavailable
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.options import json_option, utc_option
from atoll.surfaces.cli.console.output import note, show_json, show_table
from atoll.surfaces.cli.console.waiting import end_notice, name_of
from atoll.surfaces.cli.overview.agent_line import agents_line
from atoll.surfaces.cli.overview.event_watch import watching

REDRAW_SECONDS = 10.0
"""Ages grow also when nothing happens."""
SETTLE_SECONDS = 0.3
"""The pause after a redraw, in which a burst of events becomes one more."""
SHOWN = ("sandbox.", "agent.status", "agent.started", "agent.ended")
EXPECTED = ("requested", "provisioning", "ready", "active")
"""The states in which the agent of a sandbox may still be started."""
HEADINGS = ("NAME", "STATE", "STATUS", "AGE", "PROFILE", "AGENT", "REPOSITORY")
_CLEAR = "\x1b[H\x1b[2J"


@click.command("list")
@click.option("--state", "states", multiple=True, help="Only these states; may be repeated.")
@click.option("-w", "--watch", is_flag=True, help="Show the list again at each change.")
@utc_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, *, states: tuple[str, ...], watch: bool, as_json: bool) -> None:
    """List the sandboxes and what their agents do."""
    api = invocation.api()
    if watch:
        _watch(api, states, as_json=as_json)
    else:
        _show(list(api.sandboxes.list(states=states)), as_json=as_json)


def _watch(api: Client, states: tuple[str, ...], *, as_json: bool) -> None:
    """Show the list until the person interrupts; each time only when it has changed."""
    last: list[Json] | None = None
    with watching(api.transport, SHOWN) as events:
        while True:
            try:
                found = list(api.sandboxes.list(states=states))
            except Unavailable as error:
                note(f"atoll: {error.message}; waiting for the server to come back")
                found = None
            redrawn = sys.stdout.isatty() and not as_json
            if found is not None and (redrawn or [row.value for row in found] != last):
                last = [row.value for row in found]
                if redrawn:
                    click.echo(_CLEAR, nl=False)
                _show(found, as_json=as_json)
                sys.stdout.flush()
            time.sleep(SETTLE_SECONDS)
            events.wait(REDRAW_SECONDS)


def _show(found: list[Sandbox], *, as_json: bool) -> None:
    if as_json:
        show_json({"sandboxes": [row.value for row in found], "next": None})
    elif found:
        show_table(HEADINGS, map(_row, found))
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
        agents_line(sandbox.agents, wanted=sandbox.agent if sandbox.state in EXPECTED else ""),
        age(sandbox.created_at),
        sandbox.profile.id.removeprefix("profile."),
        sandbox.agent or (sandbox.agents[0].agent if sandbox.agents else "-"),
        f"{repository}@{branch}" if repository and branch else repository or "-",
    )


def _state(sandbox: Sandbox) -> str:
    marks = ["exposed"] if sandbox.exposed_secrets else []
    if sandbox.ends_soon:
        marks.append("ends soon")
    return sandbox.state + (f" ({', '.join(marks)})" if marks else "")
