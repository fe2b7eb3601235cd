"""`atoll down`: sandboxes, runtimes and the processes of Atoll on this machine end."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.made.sandboxes.oversight import Running
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.organizations import Organizations
from atoll.client.server import find_server
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import home_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note
from atoll.surfaces.cli.console.progress import ProgressNote
from atoll.surfaces.cli.console.waiting import LIVE
from atoll.surfaces.cli.transfer.unpulled import find_unpulled, print_work

AT_ONCE = 16
STOP_SECONDS = 180
"""For one sandbox, whose files may have to be fetched from a rented machine. One that cannot be
reached must not hold `down` for longer."""

_ELSEWHERE = (
    "no control plane answered: sandboxes on other machines were not stopped. Programs there end "
    "after 10 minutes without Atoll, rented machines by their deadline, at most 30 minutes away. "
    "What an extension of another project holds runs on: `atoll up` finds it, then `atoll down` "
    "again"
)


@needs(LOCAL)
@click.command("down")
@home_option()
@yes_option()
@pass_invocation
def command(invocation: Invocation, *, home: str | None, yes: bool) -> None:
    """Stop every sandbox on this machine, and Atoll itself.

    Workspaces stay: stopped sandboxes can be started after the next `atoll up`.
    """
    place = (Path(home) if home else invocation.home).absolute()
    api = Client(lambda: find_server({"ATOLL_HOME": str(place)}))
    if not yes:
        with suppress(Unavailable, Unauthenticated, Forbidden):
            for sandbox in api.sandboxes.list(states=LIVE):
                if sandbox.state in LIVE:
                    print_work(find_unpulled(api, sandbox))
    if not confirm(f"Stop Atoll and everything that runs in its sandboxes ({place})?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    try:
        _stop_all(api)
    except (Unavailable, Unauthenticated, Forbidden):
        # No control plane, or not ours to ask: then the machine alone ends what runs.
        note(_ELSEWHERE)
    invocation.host().down(place)


def _stop_all(api: Client) -> None:
    """Stop what runs, whoever owns it, so that it is `stopped` and not `failed` after the next
    `atoll up`. What is on another machine is given back while the control plane still knows it."""
    tried: set[str] = set()
    while running := [sandbox for sandbox in _list_running(api) if sandbox.sandbox_id not in tried]:
        tried.update(sandbox.sandbox_id for sandbox in running)
        with (
            ProgressNote(f"stopping {len(running)} sandboxes") as progress,
            ThreadPoolExecutor(AT_ONCE) as pool,
        ):
            # Each answer comes when all of a sandbox has ended: they stop side by side.
            for failure in pool.map(partial(_stop, api), running):
                progress.report()
                if failure:
                    note(f"atoll: {failure}")


def _list_running(api: Client) -> Sequence[Sandbox | Running]:
    try:
        return Organizations(api.transport).list_running().sandboxes
    except NotFound:
        # A control plane of an earlier version lists the caller's own alone.
        return [sandbox for sandbox in api.sandboxes.list(states=LIVE) if sandbox.state in LIVE]


def _stop(api: Client, sandbox: Sandbox | Running) -> str:
    """Stop a sandbox, and return why that failed; empty where it did not."""
    try:
        if isinstance(sandbox, Running):
            Organizations(api.transport).halt(sandbox.sandbox_id, wait_seconds=STOP_SECONDS)
        else:
            api.sandboxes.stop(sandbox.sandbox_id, wait=True, wait_seconds=STOP_SECONDS)
    except (Conflict, NotFound):
        return ""  # it ended by itself meanwhile
    except (Unavailable, Unauthenticated, Forbidden):
        raise
    except AtollError as error:
        return f"{sandbox.name or sandbox.sandbox_id} was not stopped: {error.message}"
    return ""
