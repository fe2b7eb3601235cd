"""`atoll start`: stopped sandboxes come up again with the workspace they had."""

import click

from atoll.surfaces.cli.answer import Json
from atoll.surfaces.cli.api import post
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.memory import remember
from atoll.surfaces.cli.options import json_option, sandboxes_argument
from atoll.surfaces.cli.output import say, show_json
from atoll.surfaces.cli.waiting import name_of, wait_ready


@click.command("start")
@sandboxes_argument()
@click.option(
    "--resume-agent", is_flag=True, help="Open its agent again, in its last conversation."
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation, names: tuple[str, ...], *, resume_agent: bool, as_json: bool
) -> None:
    """Bring stopped sandboxes up again, and failed ones whose files were kept."""
    api = invocation.api()
    asked = [api.call(post("sandboxes", name, "start")) for name in names]
    ready: list[Json] = []
    for sandbox in asked:
        up = wait_ready(api, sandbox, title=f"starting {name_of(sandbox)}")
        remember(invocation.environ, up.text("sandbox_id"))
        ready.append(up.value)
        if resume_agent and up.text("agent"):
            wish: dict[str, Json] = {"agent": up.text("agent"), "resume": True}
            api.call(post("sandboxes", up.text("sandbox_id"), "agents", value=wish))
        if not as_json:
            say(f"{name_of(up)} is {up.text('state')}")
    if as_json:
        show_json({"sandboxes": ready})
