"""`atoll revive`: take archived sandboxes up again."""

import click

from atoll.client.fields import Json
from atoll.client.made.sandboxes.views import Sandbox
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.memory import remember
from atoll.surfaces.cli.console.options import json_option, sandboxes_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import name_of, wait_ready
from atoll.surfaces.cli.dispatch.several import Several


@needs("sandbox.manage")
@click.command("revive")
@sandboxes_argument()
@json_option()
@pass_invocation
def command(invocation: Invocation, names: tuple[str, ...], *, as_json: bool) -> None:
    """Bring archived sandboxes back: they start, with a whole time to live.

    Agents that ran when they were archived go on in the conversations they had."""
    api = invocation.api()

    def follow(sandbox: Sandbox) -> Json:
        up = wait_ready(api, sandbox, title=f"starting {name_of(sandbox)}", again=True)
        remember(invocation.environ, up.sandbox_id)
        if not as_json:
            say(f"{name_of(up)} is {up.state}")
        return up.value

    several = Several(invocation, len(names))
    asked = several.each(dict.fromkeys(names), api.sandboxes.revive)
    ready = several.each(asked, follow, name=name_of)
    if as_json:
        show_json({"sandboxes": ready})
    several.end()
