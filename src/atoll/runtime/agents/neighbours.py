"""The neighbours of an agent's session: the channel to the agent, and who observes the session."""

from collections.abc import Callable, Mapping
from typing import Protocol

from atoll.domain.agents.card import Card
from atoll.domain.agents.conversation import Step
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.settings import SettingName
from atoll.wire.attach import AgentStateChanged

Record = Callable[[str, Mapping[str, object]], object]
"""Writes one journal entry: kind and payload."""


class Tap(Protocol):
    """Follower of every message of one agent. While it has no room, the agent is not read."""

    async def room(self) -> None:
        """Return once there is room for the next message."""
        ...

    async def take(self, line: bytes, step: Step) -> None:
        """Receive a message as it came, and what it means. Its replies have arrived by then."""
        ...

    def left(self) -> None:
        """Receive the end of the agent."""
        ...


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

    async def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Send a request in the agent's own protocol, with its place in a trace; a later step
        replies to `key`. Raises `Invalid` for one it does not serve."""
        ...

    def follow(self, tap: Tap) -> None:
        """Give every later message to one follower. Raises `Conflict` when there is another, and
        `Invalid` for an agent without messages."""
        ...


class SessionObserver(Protocol):
    """Observer of one agent's session. It must not block."""

    def changed(self, state: AgentStateChanged) -> None:
        """Receive another state."""
        ...
