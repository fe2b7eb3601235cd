"""`atoll give`: another owner for a sandbox."""

import click

from atoll.client.organizations import Organizations
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, yes_option
from atoll.surfaces.cli.console.output import confirmed, note, say, show_json


@click.command("give")
@sandbox_argument()
@click.argument("member")
@yes_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, member: str, *, yes: bool, as_json: bool) -> None:
    """Give a sandbox, with its history, to another member of your team."""
    question = f"Give {name} to {member}? It is stopped, and its files go along as they are."
    if not confirmed(question, yes=yes):
        raise click.Abort
    given = Organizations(invocation.api().transport).give(name, {"member": member})
    if as_json:
        show_json(given.value)
        return
    say(f"{given.name} is {member}'s")
    note("its links have ended; the new owner starts it with `atoll start`")
