"""`atoll start`: stopped and ended sandboxes come up again with the workspace they had, and
their agents with the conversations."""

import click

from atoll.client.client import Client
from atoll.client.fields import Json
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.memory import remember
from atoll.surfaces.cli.console.options import json_option, sandboxes_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import name_of, wait_ready
from atoll.surfaces.cli.dispatch.several import Several


@needs("sandbox.manage")
@click.command("start")
@sandboxes_argument()
@click.option(
    "--resume-agent/--no-resume-agent",
    default=None,
    help="Resume the agents that ran, or do not, whatever the profile says.",
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation, names: tuple[str, ...], *, resume_agent: bool | None, as_json: bool
) -> None:
    """Start sandboxes that stopped, expired or failed, with the files they had.

    Agents that ran when they stopped go on in the conversations they had."""
    api = invocation.api()
    query = () if resume_agent is None else (("resume_agents", str(resume_agent).lower()),)

    def follow(sandbox: Sandbox) -> Json:
        up = wait_ready(api, sandbox, title=f"starting {name_of(sandbox)}", again=True)
        remember(invocation.environ, up.sandbox_id)
        agents = _resumed_agents(api, up, own=bool(resume_agent))
        if not as_json:
            going = f", {', '.join(agents)} with it" if agents else ""
            say(f"{name_of(up)} is {up.state}{going}")
        return up.value

    several = Several(invocation, len(names))
    asked = several.each(dict.fromkeys(names), lambda name: api.sandboxes.start(name, query=query))
    ready = several.each(asked, follow, name=name_of)
    if as_json:
        show_json({"sandboxes": ready})
    several.end()


def _resumed_agents(api: Client, up: Sandbox, *, own: bool) -> list[str]:
    """Return the agents that resumed; with `own` and none, start its own agent."""
    try:
        listed = api.agents.list(up.sandbox_id).agents
    except AtollError:
        # The sandbox is up, as requested; this would only have been reported.
        return []
    running = [agent.agent for agent in listed if agent.agent_state != "stopped"]
    if running or not own or not up.agent:
        return running
    return [api.agents.start(up.sandbox_id, {"agent": up.agent, "resume": True}).agent]
