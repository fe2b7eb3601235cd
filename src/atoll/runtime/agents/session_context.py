"""The surroundings of an agent's session: the channel to the agent, observers, and the runtime."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from atoll.domain.agent.card import Card
from atoll.domain.agent.card_log import Clean
from atoll.domain.agent.conversation import Step
from atoll.domain.agent.settings import SettingName
from atoll.domain.agent.status import AttentionBudget
from atoll.runtime.agents.status import Identity
from atoll.wire.attach import AgentStateChanged

if TYPE_CHECKING:
    from atoll.runtime.agents.session import AgentSession

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


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The runtime around a session. `clean` cleans the text of cards; `on_conversation` receives
    the conversation's id, in the agent's own naming; `on_end` is called once the agent's process is
    gone, `on_turn` with the id and name of an agent whose turn begins; `count` counts the
    changes of an agent and reports them later; `attention` bounds how often
    agents call for their person."""

    record: Record
    clean: Clean
    on_conversation: Callable[[Identity, str], None]
    on_end: "Callable[[AgentSession], None]"
    on_turn: Callable[[str, str], None] = lambda *_: None
    count: Callable[[str, Callable[[int, int, int], None]], None] = lambda *_: None
    attention: AttentionBudget = field(default_factory=AttentionBudget)
