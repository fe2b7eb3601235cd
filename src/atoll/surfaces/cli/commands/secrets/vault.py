"""`atoll vault`: the master key that the values of secrets are sealed under."""

import click

from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.dispatch.verbs import Verbs


@click.group("vault", cls=Verbs)
def command() -> None:
    """Manage the keys that encrypt secrets."""


@needs("system.manage")
@command.command("rotate-master")
@json_option()
@pass_invocation
def rotate_master(invocation: Invocation, *, as_json: bool) -> None:
    """Put every value under a new master key and forget the old ones.

    Backups of the database made before need the old master.key: keep it with them.
    """
    answered = invocation.api().secrets.rotate_master()
    if as_json:
        show_json(answered.value)
    else:
        say(f"{answered.secrets} secrets are under {answered.key_id} now")
