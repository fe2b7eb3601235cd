"""`atoll stop`: everything that runs inside ends; files on disk stay."""

import click

from atoll.client.fields import Json
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandboxes_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import name_of
from atoll.surfaces.cli.transfer.unpulled import look, tell


@click.command("stop")
@sandboxes_argument()
@json_option()
@pass_invocation
def command(invocation: Invocation, names: tuple[str, ...], *, as_json: bool) -> None:
    """Stop sandboxes and keep their workspaces."""
    api = invocation.api()
    stopped: list[Json] = []
    for name in names:
        tell(look(api, api.sandboxes.get(name)))
        sandbox = api.sandboxes.stop(name, wait=True)
        stopped.append(sandbox.value)
        if not as_json:
            say(f"{name_of(sandbox)} is {sandbox.state}")
    if as_json:
        show_json({"sandboxes": stopped})
