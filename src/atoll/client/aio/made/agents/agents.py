"""Agents: those of an installation, what they do, and the shapes of it.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import catalogues
from atoll.client.aio.nouns import AsyncNoun, Awaited


class AsyncAgentCatalogue(AsyncNoun[catalogues.AgentCatalogue]):
    """The agents of an installation."""

    blocking = catalogues.AgentCatalogue
    list = Awaited(catalogues.AgentCatalogue.list)
    install = Awaited(catalogues.AgentCatalogue.install)
    find = Awaited(catalogues.AgentCatalogue.find)
