"""Logins of agents at their vendors, and where they are used.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.agents import logins as made


class AsyncAgentLogins(AsyncNoun[made.AgentLogins]):
    """The caller's logins of agents at their vendors."""

    blocking = made.AgentLogins
    begin = Awaited(made.AgentLogins.begin)
    list = Awaited(made.AgentLogins.list)
    get = Awaited(made.AgentLogins.get)
    paste = Awaited(made.AgentLogins.paste)
    turn = Awaited(made.AgentLogins.turn)
    expose = Awaited(made.AgentLogins.expose)
    revoke = Awaited(made.AgentLogins.revoke)
