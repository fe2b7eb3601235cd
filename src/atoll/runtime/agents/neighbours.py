"""The neighbours of an agent's session: the channel to the agent, and who observes the session."""

from collections.abc import Callable, Mapping
from typing import Protocol

from atoll.domain.agent.card import Card
from atoll.domain.agent.conversation import Step
from atoll.domain.agent.settings import SettingName
from atoll.wire.attach import AgentStateChanged

Record = Callable[[str, Mapping[str, object]], object]
"""Writes one journal entry: kind and payload."""


class AgentChannel(Protocol):
    """Channel to an agent. Every method raises `Conflict` when the agent cannot take the request
    now."""

    async def ask(self, words: str) -> Step:
        """Send the agent a prompt. Returns the step for its session to apply, as the other methods
        do; the messages in the step are already sent."""
        ...

    async def interrupt(self) -> Step | None:
        """Interrupt the agent's turn; None when the agent cannot be interrupted."""
        ...

    async def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer the agent's question."""
        ...

    async def change(self, name: SettingName, value: str) -> Step:
        """Change a setting of the agent's; a later step settles it."""
        ...


class SessionObserver(Protocol):
    """Observer of one agent's session. It must not block."""

    def changed(self, state: AgentStateChanged) -> None:
        """Receive another state."""
        ...
