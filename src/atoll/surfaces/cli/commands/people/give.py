"""`atoll give`: another owner for a sandbox."""

from contextlib import suppress

import click

from atoll.client.organizations import Organizations
from atoll.domain.errors import Forbidden, NotFound
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json


@needs("sandbox.manage")
@click.command("give")
@sandbox_argument()
@click.argument("member")
@yes_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, member: str, *, yes: bool, as_json: bool) -> None:
    """Give a sandbox, with its history, to another member of your team."""
    question = f"Give {name} to {member}? It is stopped, and its files go along as they are."
    if not confirm(question, yes=yes):
        raise click.Abort
    organizations = Organizations(invocation.api().transport)
    try:
        given = organizations.give(name, {"member": member})
    except NotFound:
        # One whose owner is gone is listed by `atoll org waiting`, and not by its name elsewhere.
        if (waiting := _find_waiting(organizations, name)) is None:
            raise
        given = organizations.give(waiting, {"member": member})
    if as_json:
        show_json(given.value)
        return
    say(f"{given.name} is {member}'s")
    note("its links have ended; the new owner starts it with `atoll start`")


def _find_waiting(organizations: Organizations, name: str) -> str | None:
    """Return the id of the sandbox of this name that waits for an owner, if one does."""
    with suppress(Forbidden, NotFound):
        sandboxes = organizations.waiting(None).sandboxes
        ids = [sandbox.sandbox_id for sandbox in sandboxes if sandbox.name == name]
        if len(ids) == 1:
            return ids[0]
    return None
