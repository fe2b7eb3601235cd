"""`atoll me`: the name that others see of you."""

import click

from atoll.client.made.people.me import Me, MeBody
from atoll.client.transport import get, patch
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json

_UNNAMED = "person"


@needs("me.manage")
@click.command("me")
@click.option("--name", default=None, help="Set the name that guests and invitations see.")
@json_option()
@pass_invocation
def command(invocation: Invocation, *, name: str | None, as_json: bool) -> None:
    """Show or set the name that others see of you."""
    transport = invocation.api().transport
    if name is None:
        me = transport.read(Me, get("me"))
    else:
        body: MeBody = {"name": name}
        me = transport.read(Me, patch("me", value=body))
    if as_json:
        show_json(me.value)
        return
    say(me.name)
    if name is None and me.name == _UNNAMED:
        note("you have no name yet: `atoll me --name Ada` sets it")
