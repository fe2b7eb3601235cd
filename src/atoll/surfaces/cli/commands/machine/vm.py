"""`atoll vm`: the image that sandboxes of `ext.microvm` boot from."""

from pathlib import Path

import click

from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import home_option


@click.group("vm")
def command() -> None:
    """Build what machines of ext.microvm boot from."""


@command.command("build")
@home_option()
@pass_invocation
def build(invocation: Invocation, *, home: str | None) -> None:
    """Make kernel and root of Debian's packages, and boot them once.

    Needs root, debootstrap and QEMU. An image of the same packages is not made twice.
    """
    place = (Path(home) if home else invocation.home).absolute()
    click.echo(invocation.host().build_vm(place, click.echo))
