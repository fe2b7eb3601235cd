"""`atoll up`: this process becomes the control plane of this machine."""

from pathlib import Path

import click

from atoll.ports.host import UpOptions
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import home_option


@click.command(
    "up", epilog="Ctrl-C ends the control plane; sandboxes go on. `atoll down` ends all."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port on loopback  [default: any free one]",
)
@home_option()
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@pass_invocation
def command(invocation: Invocation, *, port: int, home: str | None, no_browser: bool) -> None:
    """Start Atoll on this machine and print a login link."""
    place = Path(home) if home else invocation.home
    invocation.host().up(UpOptions(home=place.absolute(), port=port, browser=not no_browser))
