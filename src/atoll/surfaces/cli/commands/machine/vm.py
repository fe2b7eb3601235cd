"""`atoll vm`: the image that sandboxes of `ext.microvm` boot from."""

import re
from pathlib import Path

import click

from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import home_option

PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+]")
"""A package's name (Debian Policy, 5.6.1): no option of apt, and no word that removes it."""


@click.group("vm")
def command() -> None:
    """Build what machines of ext.microvm boot from."""


@needs(LOCAL)
@command.command("build")
@click.option("--package", "packages", multiple=True, help="A Debian package to add; repeatable.")
@home_option()
@pass_invocation
def build(invocation: Invocation, *, packages: tuple[str, ...], home: str | None) -> None:
    """Make kernel and root of Debian's packages, and boot them once.

    Needs apt and QEMU of a Debian, and no root. An image of the same packages is not made twice;
    the boot decides anew whether machines run with KVM.
    """
    wrong = [name for name in packages if not PACKAGE.fullmatch(name)]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is no name of a package", param_hint="--package")
    place = (Path(home) if home else invocation.home).absolute()
    click.echo(invocation.host().build_vm(place, packages, click.echo))
