"""Catalogues of an installation over the API: its agents and its backends, each found by a name."""

from atoll.client.made.agents.agents import CatalogueEntry, PlainAgentCatalogue
from atoll.client.made.extensions import Extension, PlainExtensions
from atoll.domain.errors import NotFound


class AgentCatalogue(PlainAgentCatalogue):
    """The agents of an installation. Commands make it as `AgentCatalogue(client.transport)`."""

    def find(self, name: str) -> CatalogueEntry | None:
        """Return the agent of this name or alias; None for none."""
        plain = name.partition("@")[0]
        for agent in self.list().agents:
            if plain == agent.name or plain in agent.aliases:
                return agent
        return None


class Extensions(PlainExtensions):
    """The backends, and what their vendors rent to us."""

    def get(self, name: str) -> Extension:
        """Return one, by its short or whole name. Raises `NotFound`."""
        for extension in self.list().extensions:
            if name in (extension.name, extension.name.removeprefix("ext.")):
                return extension
        raise NotFound(f"There is no extension {name[:80]!r} here.")
