"""Agents and their cards. An agent at a terminal has the terminal's id."""

from typing import Generic, Literal, TypeVar

import msgspec

from atoll.wire.contract.call import Query, RequestBody, RuntimeCall, json_call
from atoll.wire.contract.screens import KeptScreen
from atoll.wire.contract.terminals import Softlock

C = TypeVar("C")

Mode = Literal["tui", "machine"]
Action = Literal["pause", "resume", "stop", "interrupt", "start", "yield", "unlock"]


class OpenAgentBody(RequestBody):
    """The body of `POST /agents`. With `screen` its terminal goes on below that, under its id. With
    `must_know` a `conversation` that the agent does not know is refused; without, it begins another
    one. With `fork` an agent that can fork a conversation goes on in a fork of it, which gets an id
    of its own; the others resume it."""

    agent: str
    mode: Mode = "tui"
    prompt: str | None = None
    instructions: str | None = None
    instructions_id: int | None = None
    resume: bool = False
    conversation: str | None = None
    permissions: Literal["allow", "ask"] = "allow"
    cwd: str | None = None
    env: dict[str, str] | None = None
    softlock: Softlock = "owner"
    cols: int = 80
    rows: int = 24
    name: str | None = None
    must_know: bool = False
    fork: bool = False
    screen: KeptScreen | None = None


class ActionBody(RequestBody):
    """The body of `POST /sessions/{id}/agent`; `gaps` are for `stop`, in seconds."""

    action: Action
    gaps: list[float] | None = None


class AskBody(RequestBody):
    """The body of `POST /sessions/{id}/ask`."""

    prompt: str


class WakeBody(RequestBody):
    """The body of `POST /wakes`. A wake of the same id is given once. `title` and `text` are those
    of the card that says why the agent was asked."""

    wake_id: str
    prompt: str
    title: str
    text: str


class AnswerBody(RequestBody):
    """The body of `POST /sessions/{id}/cards/{card}/answer`."""

    option: str | None = None
    text: str | None = None


StatusKind = Literal["working", "needs_you", "done", "idle", "stopped", "failed"]
AnswerWay = Literal["", "protocol", "terminal"]


class StatusOption(msgspec.Struct, frozen=True):
    """A possible answer. `effect` is allow, deny or other."""

    id: str
    label: str
    effect: str = "other"


class StatusRecord(msgspec.Struct, frozen=True):
    """Status of an agent. All texts are one line each, without invisible characters, and short.

    `since` is when this status began; `on` is the last tool or sentence. Where it needs its person,
    `question` is on the card `card`, and `answer` tells how to answer: by the agent's `protocol`
    (with one of `options`, or in words where `words` is true), or at its `terminal`. `turns` counts
    those that ended; `reason` says why it failed, stopped or is idle. The last three are what its
    commits change, where that is known.
    """

    status: StatusKind
    since: str
    on: str = ""
    question: str = ""
    card: str = ""
    answer: AnswerWay = ""
    options: tuple[StatusOption, ...] = ()
    words: bool = False
    turns: int = 0
    reason: str = ""
    commits: int | None = None
    plus: int | None = None
    minus: int | None = None


class SettingChoice(msgspec.Struct, frozen=True):
    """A value that an agent offers for a setting, and its name for people."""

    id: str
    label: str


class SettingRecord(msgspec.Struct, frozen=True):
    """The value of an agent's setting `now` (empty: not known) and its choices. `free`: values that
    are not among them are accepted, too."""

    now: str
    choices: tuple[SettingChoice, ...] = ()
    free: bool = False


class SettingsRecord(msgspec.Struct, frozen=True):
    """Settings of an agent that a person can change while it runs; None where it has none."""

    model: SettingRecord | None = None
    permission_mode: SettingRecord | None = None


class SettingsBody(RequestBody):
    """The body of `PATCH /agents/{id}/settings`: exactly one of them."""

    model: str | None = None
    permission_mode: str | None = None


class AgentRecord(msgspec.Struct, frozen=True):
    """An agent. `id` is its terminal's, where it has one; `turn` says whether it works or waits
    for its person, `watched` whether anything reports that. `status` is what it does. `model` and
    `permission_mode` are empty where they are not known."""

    id: str
    agent: str
    mode: str
    agent_state: str
    turn: str
    softlock: str
    watched: bool
    cards: int
    started_at: str
    status: StatusRecord | None = None
    model: str = ""
    permission_mode: str = ""


class WokenRecord(msgspec.Struct, frozen=True):
    """The agent that a wake reached."""

    id: str
    agent: str


class AgentList(msgspec.Struct, frozen=True):
    """The sandbox's agents."""

    agents: list[AgentRecord]


class CardRecord(msgspec.Struct, frozen=True):
    """A card, as far as a person's decision needs it."""

    id: str
    rev: int
    state: str
    title: str = ""
    text: str = ""
    options: tuple[StatusOption, ...] = ()
    cut: bool = False


class CardsPage(msgspec.Struct, Generic[C], frozen=True, tag_field="type", tag="cards"):
    """A page of cards in order. With `reset` the page is complete: drop earlier cards. With `more`
    another page follows at once. `seq` is the `since` of the next request."""

    cards: list[C]
    seq: int
    reset: bool
    more: bool
    dropped: int
    agent: AgentRecord | None
    v: int


def open_agent(body: OpenAgentBody, *, principal: str | None) -> RuntimeCall[AgentRecord]:
    """Start an agent in the name of a principal."""
    query: Query = () if principal is None else (("principal", principal),)
    return json_call("POST", "/agents", AgentRecord, query=query, body=body)


def list_agents() -> RuntimeCall[AgentList]:
    """List the sandbox's agents."""
    return json_call("GET", "/agents", AgentList)


def get_agent(agent_id: str) -> RuntimeCall[AgentRecord]:
    """Return one agent."""
    return json_call("GET", f"/agents/{agent_id}", AgentRecord)


def act_on_agent(agent_id: str, body: ActionBody, who: Query) -> RuntimeCall[AgentRecord]:
    """Control an agent; `who` acts, as in an attach."""
    return json_call("POST", f"/sessions/{agent_id}/agent", AgentRecord, query=who, body=body)


def agent_settings(agent_id: str) -> RuntimeCall[SettingsRecord]:
    """Return what can be changed of an agent."""
    return json_call("GET", f"/agents/{agent_id}/settings", SettingsRecord)


def change_agent(agent_id: str, body: SettingsBody, who: Query) -> RuntimeCall[SettingsRecord]:
    """Change an agent's model or permission mode; returns its settings after that."""
    path = f"/agents/{agent_id}/settings"
    return json_call("PATCH", path, SettingsRecord, query=who, body=body)


def ask_agent(agent_id: str, body: AskBody, who: Query) -> RuntimeCall[AgentRecord]:
    """Give an agent a prompt."""
    return json_call("POST", f"/sessions/{agent_id}/ask", AgentRecord, query=who, body=body)


def wake_agent(body: WakeBody) -> RuntimeCall[WokenRecord]:
    """Ask the sandbox's agent, if it is idle and no person uses it; once for each id."""
    return json_call("POST", "/wakes", WokenRecord, body=body)


def list_cards(agent_id: str, *, since: int) -> RuntimeCall[CardsPage[msgspec.Raw]]:
    """List the cards that changed after `since`, as they are."""
    query = (("since", str(since)),)
    return json_call("GET", f"/sessions/{agent_id}/cards", CardsPage[msgspec.Raw], query=query)


def get_card(agent_id: str, card_id: str) -> RuntimeCall[CardRecord]:
    """Return one card."""
    return json_call("GET", f"/sessions/{agent_id}/cards/{card_id}", CardRecord)


def answer_card(
    agent_id: str, card_id: str, body: AnswerBody, who: Query
) -> RuntimeCall[msgspec.Raw]:
    """Answer the question on a card. Returns the card with the answer."""
    path = f"/sessions/{agent_id}/cards/{card_id}/answer"
    return json_call("POST", path, msgspec.Raw, query=who, body=body)
