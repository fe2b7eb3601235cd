"""`atoll down`: sandboxes, runtimes and the processes of Atoll on this machine end."""

from pathlib import Path

import click

from atoll.surfaces.cli.exits import FAILED
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.options import home_option, yes_option
from atoll.surfaces.cli.output import confirmed


@click.command("down")
@home_option()
@yes_option()
@pass_invocation
def command(invocation: Invocation, *, home: str | None, yes: bool) -> None:
    """End every sandbox here and Atoll itself.

    Workspaces stay: stopped sandboxes can be started after the next `atoll up`.
    """
    place = (Path(home) if home else invocation.home).absolute()
    if not confirmed(f"End Atoll and everything that runs in its sandboxes ({place})?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    invocation.host().down(place)
