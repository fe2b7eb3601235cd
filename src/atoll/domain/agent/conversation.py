"""What a conversation does next: what its cards show, and what is sent to the agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from atoll.domain.agent.card import Card, Said, Value
from atoll.domain.agent.lenient_json import Message
from atoll.domain.errors import Conflict, Invalid, NotFound

Outgoing: TypeAlias = Mapping[str, Value]
"""One JSON object for the agent: a line of its input."""


@dataclass(frozen=True, slots=True)
class Step:
    """`said` goes to cards and lock, `send` to the agent, in this order. `conversation` names
    the one it has, once something was said in it: there is one to go on with."""

    said: tuple[Said, ...] = ()
    send: tuple[Outgoing, ...] = ()
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """How an agent is started. With `ask` it asks before it acts, otherwise everything is
    allowed: the sandbox is the wall. `resume` goes on with its last conversation,
    `conversation` with the one it names so."""

    cwd: str
    ask: bool = False
    resume: bool = False
    conversation: str | None = None


class Conversation(Protocol):
    """One agent's machine mode. Its messages may be anything: none may raise."""

    def begin(self) -> Step:
        """What is said first."""
        ...

    def take(self, message: Message) -> Step:
        """One line of the agent's output."""
        ...

    def ask(self, words: str) -> Step:
        """A person's prompt; kept until the agent is ready. Raises `Conflict` while it works."""
        ...

    def interrupt(self) -> Step:
        """Break off the turn; nothing when there is none."""
        ...

    def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """A person answers a pending card by one of its options or in words. Raises
        `NotFound`, `Invalid`."""
        ...


def busy() -> Conflict:
    """The agent works: it cannot be asked now."""
    return Conflict(
        "the agent is working: wait until it is done, or interrupt it", code="agent_running"
    )


def not_pending(card_id: str) -> NotFound:
    """Nothing waits for this answer (any more)."""
    return NotFound(f"nothing waits for an answer to the card {card_id[:80]}", code="not_pending")


def chosen(card: Card, option: str | None) -> str:
    """An option of the card. Raises `Invalid` with those there are."""
    known = [one.id for one in card.options]
    if option not in known:
        names = ", ".join(known) or "none: answer in words"
        raise Invalid(f"option must be one of: {names}", field="option")
    return option
