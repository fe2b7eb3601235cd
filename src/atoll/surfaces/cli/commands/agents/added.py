"""`atoll agent add` and `info`: any agent that speaks ACP, and what is known of one.

They work on the home directly, as the person who owns it: adding is that person's act, as
installing is.
"""

from typing import TYPE_CHECKING

import click

from atoll.client.fields import Json
from atoll.domain.errors import NotFound
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.bar import Bar
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json

if TYPE_CHECKING:
    from atoll.ports.agents import InstalledAgent

LATER = "a sandbox that runs already gets it by `atoll stop NAME` and `atoll start NAME`"
"""Notice about an agent that was installed, for sandboxes that started before."""


@needs(LOCAL)
@click.command("add")
@click.argument("name", metavar="acp:NAME")
@click.option("--npm", default=None, metavar="PACKAGE", help="Of npm, @scope/name@1.0")
@click.option("--pip", default=None, metavar="PACKAGE", help="Of Python's registry, name==1.0")
@click.option("--command", "words", default="", metavar="WORDS", help="What makes it speak ACP.")
@click.option(
    "--env", multiple=True, metavar="NAME=VALUE", help="For its process; $OTHER is a variable's."
)
@click.option("--state", multiple=True, metavar="DIR", help="Of its home, kept over a stop.")
@click.option("--provider", "providers", multiple=True, help="A provider whose key it can use.")
@click.option("--unchecked", is_flag=True, help="Do not try it: its program is in an image.")
@json_option()
@pass_invocation
def add(
    invocation: Invocation,
    name: str,
    *,
    npm: str | None,
    pip: str | None,
    words: str,
    env: tuple[str, ...],
    state: tuple[str, ...],
    providers: tuple[str, ...],
    unchecked: bool,
    as_json: bool,
) -> None:
    """Add an agent that speaks ACP, and try that it does."""
    from atoll.domain.agents.acp.added import NewAgent

    if npm is not None and pip is not None:
        raise click.UsageError("--npm and --pip exclude each other.")
    if npm is None and pip is None and not words:
        raise click.UsageError("name where it comes from: --npm, --pip or --command.")
    wanted = NewAgent(
        name,
        "npm" if npm is not None else "pip" if pip is not None else None,
        npm if npm is not None else pip or "",
        words,
        env=env,
        state=state,
        providers=providers,
        checked=not unchecked,
    )
    shelf = invocation.host().agents(invocation.home.absolute())
    with Bar(name) as bar:
        layer = shelf.add(wanted, bar.line, headway=bar.headway)
    program = next(program for program in shelf.list() if program.agent.name == layer.agent)
    if as_json:
        show_json(agent_facts(program))
        return
    say(f"added {layer.agent} {layer.version}".rstrip())
    say(f"  atoll new . --agent {layer.agent} --prompt '…'")
    note(f"atoll: {LATER}")


@needs(LOCAL)
@click.command("info")
@click.argument("name", shell_complete=candidates.agents())
@json_option()
@pass_invocation
def info(invocation: Invocation, name: str, *, as_json: bool) -> None:
    """Show where an agent comes from, and how it is started."""
    shelf = invocation.host().agents(invocation.home.absolute())
    wanted = name.partition("@")[0]
    for program in shelf.list():
        if wanted in (program.agent.name, *program.agent.aliases):
            break
    else:
        known = ", ".join(program.agent.name for program in shelf.list())
        raise NotFound(f"no agent is called {name[:80]!r}; known: {known}", field="agent")
    if as_json:
        show_json(agent_facts(program))
        return
    for word, value in agent_facts(program).items():
        shown = " ".join(map(str, value)) if isinstance(value, list) else value
        say(f"{word:<14}{shown if shown not in (None, '', False) else '-'}")
    if program.versions:
        note(f"atoll: {LATER}")


def agent_facts(program: "InstalledAgent") -> dict[str, Json]:
    """Return what is known of an agent."""
    agent, package = program.agent, program.agent.package
    return {
        "name": agent.name,
        "aliases": list(agent.aliases),
        "installed": list(program.versions),
        "on_host": program.on_host,
        "pinned": package.version if package else None,
        "registry": package.registry if package else None,
        "package": package.name if package else None,
        "providers": list(agent.providers),
        "argv": list(agent.argv),
        "task_argv": list(agent.task_argv),
        "resume_argv": list(agent.resume_argv),
        "machine": agent.machine.protocol if agent.machine else None,
        "state": list(agent.state),
        "transcripts": agent.transcripts,
    }
