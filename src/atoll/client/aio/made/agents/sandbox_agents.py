"""Agents of a sandbox: start, list, prompt and control them, and read and answer their cards
(docs/program/cards.md).

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import sandboxes
from atoll.client.aio.nouns import AsyncNoun, Awaited


class AsyncAgents(AsyncNoun[sandboxes.Agents]):
    """The agents of a sandbox. An agent's id is that of its terminal."""

    blocking = sandboxes.Agents
    list = Awaited(sandboxes.Agents.list)
    start = Awaited(sandboxes.Agents.start)
    settings = Awaited(sandboxes.Agents.settings)
    change = Awaited(sandboxes.Agents.change)
    ask = Awaited(sandboxes.Agents.ask)
    cards = Awaited(sandboxes.Agents.cards)
    answer = Awaited(sandboxes.Agents.answer)
    act = Awaited(sandboxes.Agents.act)
