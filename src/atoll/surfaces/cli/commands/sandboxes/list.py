"""`atoll list`: the sandboxes there are, and what their agents do."""

import sys
import time
from dataclasses import dataclass

import click

from atoll.client.client import Client
from atoll.client.fields import Json
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import Invalid, Unavailable
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_option, utc_option
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.overview.event_watch import watch_events
from atoll.surfaces.cli.overview.listing import show_sandboxes

REDRAW_SECONDS = 10.0
"""Ages grow also when nothing happens."""
SETTLE_SECONDS = 0.3
"""The pause after a redraw, in which a burst of events becomes one more."""
SHOWN = ("sandbox.", "agent.status", "agent.started", "agent.ended", "work.", "git.")
_CLEAR = "\x1b[H\x1b[2J"


@needs("sandbox.read")
@click.command("list")
@click.option("--state", "states", multiple=True, help="Only these states; may be repeated.")
@sandbox_option("--task", help="Only those that got the same task as NAME.")
@click.option("--harness", metavar="NAME", help="Only those that this harness made.")
@click.option("--archived", is_flag=True, help="Those that were archived, instead.")
@click.option("-w", "--watch", is_flag=True, help="Show the list again at each change.")
@utc_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    states: tuple[str, ...],
    task: str | None,
    harness: str | None,
    archived: bool,
    watch: bool,
    as_json: bool,
) -> None:
    """List the sandboxes and what their agents do."""
    api = invocation.api()
    group = None if task is None else _group(api, task)
    chosen = _Selection(api, states, group, archived, harness)
    if watch:
        _watch(chosen, as_json=as_json)
    else:
        show_sandboxes(chosen.read(), as_json=as_json)


def _group(api: Client, name: str) -> str:
    """Return the group of a sandbox's task. Raises `Invalid` for one that got its task alone."""
    group = api.sandboxes.get(name).task.group
    if not group:
        raise Invalid(f"{name} got its task alone: only several agents have the same one")
    return group


@dataclass(frozen=True, slots=True)
class _Selection:
    """The sandboxes to list."""

    api: Client
    states: tuple[str, ...]
    group: str | None
    archived: bool
    harness: str | None

    def read(self) -> list[Sandbox]:
        """Return them as they are now."""
        sandboxes = self.api.sandboxes.list(
            states=self.states, archived=self.archived, harness=self.harness
        )
        return [sandbox for sandbox in sandboxes if self.group in (None, sandbox.task.group)]


def _watch(chosen: _Selection, *, as_json: bool) -> None:
    """Show the list until the person interrupts; each time only when it has changed."""
    last: list[Json] | None = None
    with watch_events(chosen.api.transport, SHOWN) as events:
        while True:
            try:
                sandboxes: list[Sandbox] | None = chosen.read()
            except Unavailable as error:
                note(f"atoll: {error.message}; waiting for the server to come back")
                sandboxes = None
            redrawn = sys.stdout.isatty() and not as_json
            if sandboxes is not None and (redrawn or [row.value for row in sandboxes] != last):
                last = [row.value for row in sandboxes]
                if redrawn:
                    click.echo(_CLEAR, nl=False)
                show_sandboxes(sandboxes, as_json=as_json)
                sys.stdout.flush()
            time.sleep(SETTLE_SECONDS)
            events.wait(REDRAW_SECONDS)
