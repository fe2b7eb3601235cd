"""`atoll down`: sandboxes, runtimes and the processes of Atoll on this machine end."""

from contextlib import suppress
from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.server import find_server
from atoll.domain.errors import Conflict, Forbidden, NotFound, Unauthenticated, Unavailable
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import home_option, yes_option
from atoll.surfaces.cli.console.output import confirmed
from atoll.surfaces.cli.console.progress import ProgressNote
from atoll.surfaces.cli.console.waiting import LIVE
from atoll.surfaces.cli.transfer.unpulled import look, tell


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
                    tell(look(api, sandbox))
    if not confirmed(f"Stop Atoll and everything that runs in its sandboxes ({place})?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    with suppress(Unavailable, Unauthenticated, Forbidden):
        # No control plane, or not ours to ask: then the machine alone ends what runs.
        _stop_all(api)
    invocation.host().down(place)


def _stop_all(api: Client) -> None:
    """Stop what runs, so that it is `stopped` and not `failed` after the next `atoll up`."""
    found = api.sandboxes.list(states=LIVE)
    running = [row.sandbox_id for row in found if row.state in LIVE]
    with ProgressNote(f"stopping {len(running)} sandboxes") as progress:
        for wait in (False, True):
            # Asked of all first, then waited for one by one: they stop side by side.
            for sandbox_id in running:
                with suppress(Conflict, NotFound):
                    api.sandboxes.stop(sandbox_id, wait=wait)
                progress.tell()
