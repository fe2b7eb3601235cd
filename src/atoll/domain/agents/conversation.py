"""The next step of a conversation: reports for its cards, and messages for the agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from atoll.domain.agents.card import AgentReport, Card, Value
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.settings import SettingName
from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.wire.contract.agents import SettingsRecord

Outgoing: TypeAlias = Mapping[str, Value]
"""A JSON object for the agent: a line of its input."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The agent's answer to the request `key`: a result, or the error that the agent gave. One that
    a translator `made` is not the result of the message it was made of."""

    key: str
    result: Value = None
    error: Message | None = None
    made: bool = False


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """An event of a worker's stream that a translator made. A question has an `id` of ours. With
    `native` it carries the agent's own message, as it was read. A `live` one is not kept: a piece
    of a text, which the completed item replaces."""

    method: str
    params: Outgoing
    id: str = ""
    native: bool = False
    live: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """A program to run inside, and the reader that makes a step of its JSON lines."""

    argv: tuple[str, ...]
    read: Callable[[Sequence[Message]], "Step"]


@dataclass(frozen=True, slots=True)
class Restart:
    """A new start of the agent's program, in the conversation of this id. A `fresh` one has said
    nothing yet."""

    conversation: str
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one stimulus.

    `said` goes to cards and lock, `send` to the agent, in this order. `conversation` names the
    present conversation once something was said in it: only then can it be resumed. `settings` are
    the agent's, where they changed. `settled` ends a change of a setting: an empty text means that
    it holds, another one says why the agent refused it. `replies` answer requests. `durable` marks
    a message that a worker's stream keeps as it is: an event, not a response and no piece of a
    text. `events` are what a translator makes of it instead. `lookup` is run, and its step follows
    this one. `restart` ends the program; `begin` is called once it runs again.
    """

    said: tuple[AgentReport, ...] = ()
    send: tuple[Outgoing, ...] = ()
    conversation: str = ""
    settings: SettingsRecord | None = None
    settled: str | None = None
    replies: tuple[Reply, ...] = ()
    durable: bool = False
    events: tuple[AgentEvent, ...] = ()
    lookup: Lookup | None = None
    restart: Restart | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """The options of an agent's start.

    With `ask` the agent asks before it acts; otherwise everything is allowed, since the sandbox is
    the boundary. `resume` resumes its last conversation, `conversation` the one of that name, with
    `fork` as a fork of it where the protocol has such.
    `fresh` is a new UUID: the name of a new conversation, and the seed of other names. `tools_url`
    is the address of Atoll's tools and `tools_argv` the program that leads to them, both empty
    where the protocol does not name them.
    """

    cwd: str
    ask: bool = False
    resume: bool = False
    conversation: str | None = None
    fork: bool = False
    fresh: str = ""
    tools_url: str = ""
    tools_argv: tuple[str, ...] = ()


class Conversation(Protocol):
    """An agent's machine mode. The agent's messages may be anything, so no method may raise on
    them."""

    def begin(self) -> Step:
        """Return the first messages, also of a program that was started again. Raises `Invalid`,
        field `resume`, where the last conversation
        cannot be resumed without its name."""
        ...

    def take(self, message: Message) -> Step:
        """Read one line of the agent's output."""
        ...

    def ask(self, words: str) -> Step:
        """Send a person's prompt; it is kept until the agent is ready. Raises `Conflict` while the
        agent works."""
        ...

    def interrupt(self) -> Step:
        """Interrupt the turn; do nothing when there is none."""
        ...

    def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer a pending card with an option or in words. Raises `NotFound`, `Invalid`."""
        ...

    def change(self, name: SettingName, value: str) -> Step:
        """Change a setting to a value that the agent offers. A later step settles it."""
        ...

    def request(self, key: str, method: str, params: Message, *, trace: str = "") -> Step:
        """Send a request in the agent's own protocol; a later step replies to `key`. `trace` is its
        place in a trace (W3C `traceparent`), for an agent that takes one. Raises `Invalid`
        `unsupported_method`, and `Conflict` for an answer to nothing that waits."""
        ...


def busy_error() -> Conflict:
    """Return the error for a prompt while the agent works."""
    return Conflict(
        "the agent is working: wait until it is done, or interrupt it", code="agent_running"
    )


def unsupported_error(method: str) -> Invalid:
    """Return the error for a request that this agent does not serve."""
    return Invalid(
        f"this agent serves no request {method[:80]!r}", code="unsupported_method", field="method"
    )


def not_pending(card_id: str) -> NotFound:
    """Return the error for an answer to a card that is not pending (any more)."""
    return NotFound(f"nothing waits for an answer to the card {card_id[:80]}", code="not_pending")


def check_option(card: Card, option: str | None) -> str:
    """Return the option if the card has it. Raises `Invalid` with the card's options."""
    known = [option.id for option in card.options]
    if option not in known:
        names = ", ".join(known) or "none: answer in words"
        raise Invalid(f"option must be one of: {names}", field="option")
    return option
