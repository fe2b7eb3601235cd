"""The agents of an installation, over the API: which work here, and the install of one.

Made by the commands that use it, as `AgentCatalogue(client.transport)`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Transport, get, post


class Install(Shape):
    """An install that runs, or failed."""

    bytes = fields.number()
    expected = fields.number()
    failed = fields.text()


class CatalogueEntry(Shape):
    """An agent of the installation."""

    name = fields.text()
    aliases = fields.texts()
    state: Field[Literal["works", "key_missing", "not_installed", "unavailable"]] = fields.word()
    reason = fields.text()
    mend = fields.text()
    providers = fields.texts()
    about_mib = fields.number()
    installable = fields.flag()
    install = fields.one(Install)


class CatalogueList(Shape):
    """Every agent of the installation."""

    agents = fields.many(CatalogueEntry)


class AgentCatalogue:
    """The agents of an installation."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> CatalogueList:
        """Return every agent, those that work first."""
        return self._transport.read(CatalogueList, get("agent-catalogue"))

    def find(self, name: str) -> CatalogueEntry | None:
        """Return the agent of this name or alias; None for none."""
        plain = name.partition("@")[0]
        for agent in self.list().agents:
            if plain == agent.name or plain in agent.aliases:
                return agent
        return None

    def install(self, name: str) -> Install:
        """Begin to install an agent where the server is."""
        return self._transport.read(Install, post("agent-catalogue", name, "install"))
