"""`atoll stop`: everything that runs inside ends; files on disk stay."""

import click

from atoll.surfaces.cli.answer import Json
from atoll.surfaces.cli.api import get, post
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.options import json_option, sandboxes_argument
from atoll.surfaces.cli.output import say, show_json
from atoll.surfaces.cli.unpulled import look, tell
from atoll.surfaces.cli.waiting import name_of


@click.command("stop")
@sandboxes_argument()
@json_option()
@pass_invocation
def command(invocation: Invocation, names: tuple[str, ...], *, as_json: bool) -> None:
    """End what runs in sandboxes and keep their workspaces."""
    api = invocation.api()
    stopped: list[Json] = []
    for name in names:
        tell(look(api, api.call(get("sandboxes", name))))
        sandbox = api.call(post("sandboxes", name, "stop", query=(("wait", "true"),)))
        stopped.append(sandbox.value)
        if not as_json:
            say(f"{name_of(sandbox)} is {sandbox.text('state')}")
    if as_json:
        show_json({"sandboxes": stopped})
