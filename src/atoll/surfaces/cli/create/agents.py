"""The agents of `atoll new`, put right before anything is made: installed, and given a key.

Only a person at a terminal is asked. Elsewhere a line says what is missing, and the server decides.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from atoll.client.made.secrets import SecretBody
from atoll.domain.errors import AtollError, Failed
from atoll.surfaces.cli.console.bar import Bar
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.output import clean, note
from atoll.surfaces.cli.console.selection import can_ask

if TYPE_CHECKING:
    from atoll.client.catalogues import AgentCatalogue
    from atoll.client.made.agents.agents import CatalogueEntry

LOOK_SECONDS = 0.5


def prepare_agents(invocation: Invocation, names: Sequence[str]) -> None:
    """Install these agents and ask for their keys, where that is missing. Raises `Failed` when an
    install does not work out."""
    from atoll.client.catalogues import AgentCatalogue

    catalogue = AgentCatalogue(invocation.api().transport)
    for name in names:
        try:
            agent = catalogue.find(name)
        except AtollError:
            return  # a server of another version; it says itself what it lacks
        if agent is not None and agent.state == "not_installed" and "@" not in name:
            agent = _offer_install(invocation, catalogue, agent)
        if agent is not None and agent.state == "key_missing":
            _give_key(invocation, agent)


def _offer_install(
    invocation: Invocation, catalogue: "AgentCatalogue", agent: "CatalogueEntry"
) -> "CatalogueEntry | None":
    """Offer to install an agent; return the agent as it is afterwards."""
    if not (can_ask() and agent.installable):
        return agent
    import click

    size = f" ({agent.about_mib} MiB)" if agent.about_mib else ""
    if not click.confirm(f"{agent.name} is not installed. Install it now{size}?", default=True):
        return agent
    with Bar(agent.name) as bar:
        if invocation.environ.get("ATOLL_URL"):
            _install_there(catalogue, agent.name, bar)
        else:
            shelf = invocation.host().agents(invocation.home.absolute())
            shelf.install(agent.name, None, bar.line, headway=bar.headway)
    return catalogue.find(agent.name)


def _install_there(catalogue: "AgentCatalogue", name: str, bar: Bar) -> None:
    """Have the server install an agent, and follow it. Raises `Failed` with its reason."""
    install = catalogue.install(name)
    while True:
        if install.failed:
            raise Failed(f"{name} was not installed: {install.failed}")
        agent = catalogue.find(name)
        if agent is None or agent.state != "not_installed":
            return
        install = agent.install
        if bar.headway is not None:
            bar.headway(install.bytes, install.expected)
        time.sleep(LOOK_SECONDS)


def _give_key(invocation: Invocation, agent: "CatalogueEntry") -> None:
    provider = agent.providers[0]
    if not can_ask():
        note(f"atoll: {agent.name} has no key of {provider}: `{agent.mend}` sets one")
        return
    import click

    question = f"{agent.name} needs a key of {provider}; it stays outside. Key (empty: later)"
    key: str = click.prompt(
        clean(question), default="", hide_input=True, show_default=False, err=True
    )
    if key.strip():
        body: SecretBody = {"value": key.strip(), "kind": "provider", "provider": provider}
        invocation.api().secrets.set(provider, body)
        note(f"set {provider}")
