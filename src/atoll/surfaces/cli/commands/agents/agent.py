"""`atoll agent`: the agents installed on this machine, once per version, for every sandbox.

These work on the home directly, as the person who owns it: no server is needed.
Driving the agents in sandboxes is `agent_control`.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from atoll.client.fields import Json
from atoll.surfaces.cli.commands.agents.added import LATER, add, agent_facts, info
from atoll.surfaces.cli.commands.agents.agent_login import LOGINS
from atoll.surfaces.cli.commands.agents.check import check
from atoll.surfaces.cli.commands.agents.control import CONTROLS
from atoll.surfaces.cli.commands.agents.settings import set_
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.bar import Bar
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.dispatch.verbs import Verbs

if TYPE_CHECKING:
    from atoll.ports.agents import AgentShelf, InstalledAgent, Layer


@click.group("agent", cls=Verbs)
def command() -> None:
    """Install the agents of this machine, log them in, and control those in sandboxes."""


@needs(LOCAL)
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the agents Atoll knows, and the versions installed here."""
    shelved = list(_shelf(invocation).list())
    if as_json:
        show_json({"agents": [agent_facts(program) for program in shelved]})
    else:
        show_table(
            ("AGENT", "INSTALLED", "PINNED", "FROM"), [_agent_row(program) for program in shelved]
        )


@needs(LOCAL)
@command.command("install")
@click.argument(
    "names", metavar="NAME...", nargs=-1, required=True, shell_complete=candidates.agents()
)
@click.option("--version", default=None, help="This version  [default: the pinned one]")
@json_option()
@pass_invocation
def install(
    invocation: Invocation, names: tuple[str, ...], *, version: str | None, as_json: bool
) -> None:
    """Install agents, once for every sandbox."""
    if version is not None and len(names) > 1:
        raise click.UsageError("--version goes with one agent: name the others by themselves.")
    _install(invocation, names, version, as_json=as_json)


@needs(LOCAL)
@command.command("update")
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=candidates.agents())
@json_option()
@pass_invocation
def update(invocation: Invocation, names: tuple[str, ...], *, as_json: bool) -> None:
    """Install the pinned version of agents beside older ones; without NAME, of all installed."""
    shelf = _shelf(invocation)
    chosen = names or tuple(
        program.agent.name
        for program in shelf.list()
        if program.versions and program.agent.package is not None
    )
    if not chosen:
        note("atoll: no agent is installed yet: `atoll agent list` shows which there are")
    _install(invocation, chosen, None, as_json=as_json)


@needs(LOCAL)
@command.command("remove")
@click.argument("name", shell_complete=candidates.agents())
@click.option("--version", default=None, help="Only this version.")
@yes_option()
@json_option()
@pass_invocation
def remove(
    invocation: Invocation, name: str, *, version: str | None, yes: bool, as_json: bool
) -> None:
    """Remove an agent's versions; sandboxes that run with one keep it until they stop."""
    what = f"{name} {version}" if version else f"every version of {name}"
    if not confirm(f"Remove {what} from this machine?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    _show(_shelf(invocation).remove(name, version), "removed", as_json=as_json)


command.add_command(remove, "rm")

for control in (*CONTROLS, set_, *LOGINS, add, info, check):
    command.add_command(control)


def _install(
    invocation: Invocation, names: Sequence[str], version: str | None, *, as_json: bool
) -> None:
    shelf = _shelf(invocation)

    def install(name: str) -> "Layer":
        with Bar(name) as bar:
            return shelf.install(name, version, bar.line, headway=bar.headway)

    several = Several(invocation, len(names))
    layers = several.each(names, install)
    if as_json:
        _show(layers, "", as_json=True)
    else:
        for layer in layers:
            done = "installed" if layer.new else "was installed already"
            say(f"{layer.agent} {layer.version} {done}")
        if any(layer.new for layer in layers):
            note(f"atoll: {LATER}")
    several.end()


def _show(layers: "Sequence[Layer]", what: str, *, as_json: bool) -> None:
    if as_json:
        values: list[Json] = [asdict(layer) for layer in layers]
        show_json({"agents": values})
        return
    for layer in layers:
        notice = ": sandboxes that run keep it until they stop" if layer.kept else ""
        say(f"{what} {layer.agent} {layer.version}{notice}")


def _shelf(invocation: Invocation) -> "AgentShelf":
    return invocation.host().agents(invocation.home.absolute())


def _agent_row(program: "InstalledAgent") -> tuple[str, ...]:
    package = program.agent.package
    here = ", ".join(program.versions) or ("on this host" if program.on_host else "-")
    return (
        program.agent.name,
        here,
        package.version if package else "-",
        f"{package.registry} {package.name}" if package else "not installed by Atoll",
    )
