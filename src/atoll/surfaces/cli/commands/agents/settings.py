"""`atoll agent set`: the model and the permission mode of an agent in machine mode."""

import click

from atoll.client.made.agents.sandbox_agents import AgentSettings, Setting, SettingsBody
from atoll.client.transport import omit_empty
from atoll.surfaces.cli.commands.agents.control import agent_option, pick_agent
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import show_json, show_table


@needs("agent.use")
@click.command("set")
@sandbox_argument()
@click.option("--model", default=None, help="Its model from now on.")
@click.option("--permission-mode", "--mode", default=None, help="What it may do without asking.")
@agent_option()
@json_option()
@pass_invocation
def set_(
    invocation: Invocation,
    /,
    name: str,
    *,
    model: str | None,
    permission_mode: str | None,
    agent_id: str | None,
    as_json: bool,
) -> None:
    """Change an agent's model or permission mode; without options, show the choices."""
    api = invocation.api()
    which = pick_agent(api, name, agent_id).id
    changes: tuple[SettingsBody, ...] = ({"model": model}, {"permission_mode": permission_mode})
    settings = None
    for change in changes:
        wanted = omit_empty(change)
        if wanted:
            settings = api.agents.change(name, which, wanted)
    settings = settings or api.agents.settings(name, which)
    if as_json:
        show_json(settings.value)
    else:
        _show(settings)


def _show(settings: AgentSettings) -> None:
    rows = [
        (title, setting.now or "-", _choices(setting))
        for title, setting in (
            ("model", settings.model),
            ("permission mode", settings.permission_mode),
        )
        if setting.value
    ]
    show_table(("SETTING", "NOW", "CHOICES"), rows)


def _choices(setting: Setting) -> str:
    named = [choice.id for choice in setting.choices]
    return ", ".join([*named, "any other name"] if setting.free else named)
