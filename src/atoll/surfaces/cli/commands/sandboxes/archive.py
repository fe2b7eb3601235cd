"""`atoll archive`: put a sandbox away, with its files and conversations."""

from functools import partial

import click

from atoll.client.made.sandboxes.views import Sandbox
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandboxes_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import name_of, wait_ended
from atoll.surfaces.cli.dispatch.several import Several


@needs("sandbox.manage")
@click.command("archive")
@sandboxes_argument()
@json_option()
@pass_invocation
def command(invocation: Invocation, names: tuple[str, ...], *, as_json: bool) -> None:
    """Put sandboxes away: they stop, and keep their work.

    An archived sandbox leaves the list (`atoll list --archived` has it) and does not expire. It
    keeps its files, branches and the conversations of its agents until `atoll revive` or `atoll
    destroy`.
    """
    api = invocation.api()
    archive = partial(api.sandboxes.archive, query=(("wait", "true"),))

    def put_away(name: str) -> Sandbox:
        sandbox = wait_ended(api, name, archive, title=f"archiving {name}")
        if not as_json:
            say(f"{name_of(sandbox)} is archived: `atoll revive {name_of(sandbox)}` brings it back")
        return sandbox

    several = Several(invocation, len(names))
    archived = several.each(dict.fromkeys(names), put_away)
    if as_json:
        show_json({"sandboxes": [sandbox.value for sandbox in archived]})
    several.end()
