"""Bodies of requests to agents, and views of agents and cards (docs/program/cards.md)."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictBool

from atoll.surfaces.http.agents.status_view import StatusView
from atoll.surfaces.http.body.fields import Body, ResponseModel, Word
from atoll.surfaces.http.terminals.runtime_bodies import Cell, Env, Path
from atoll.wire.words.agents import MAX_PROMPT
from atoll.wire.words.terminals import Strictness

Prompt = Annotated[str, Field(min_length=1, max_length=MAX_PROMPT, strict=True)]
Conversation = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$", strict=True)]
Gap = Annotated[float, Field(ge=0, le=10)]


class AgentBody(Body):
    """An agent to start, without a `mode` at a terminal where it has that one. `resume` resumes its
    last conversation, `conversation` the one of that id, as `agent.conversation` events name it.
    `permissions: ask` makes a machine request approval before it acts; at a terminal the agent's
    own settings count. `softlock: strict` also keeps the owner from typing while it works; a
    sandbox that is strict makes every agent so."""

    agent: Word
    mode: Literal["tui", "machine"] = "tui"
    prompt: Prompt | None = None
    resume: StrictBool = False
    conversation: Conversation | None = None
    permissions: Literal["allow", "ask"] = "allow"
    cwd: Path | None = None
    env: Env | None = None
    softlock: Strictness = Strictness.OWNER
    cols: Cell = 80
    rows: Cell = 24
    name: Word | None = None


class ActionBody(Body):
    """The action on an agent. `unlock` lets its owner type on while it works. `gaps` are for
    `stop`: seconds after each of three INT, and after TERM, before what comes next."""

    action: Literal["pause", "resume", "stop", "interrupt", "start", "yield", "unlock"]
    gaps: Annotated[list[Gap], Field(min_length=4, max_length=4)] | None = None


class PromptBody(Body):
    """A prompt."""

    prompt: Prompt


class AnswerBody(Body):
    """An answer to a card: the id of one of its options, or words."""

    option: Annotated[str, Field(min_length=1, max_length=300, strict=True)] | None = None
    text: Prompt | None = None


Value = Annotated[str, Field(min_length=1, max_length=200, strict=True)]


class SettingsBody(Body):
    """A setting of an agent to change: `model` or `permission_mode`."""

    model: Value | None = None
    permission_mode: Value | None = None


class ChoiceView(ResponseModel):
    """A value that the agent offers, and its name for people."""

    id: str
    label: str


class SettingView(ResponseModel):
    """A setting. `now` is empty while it is not known; `free` accepts values that are not among
    the choices."""

    now: str
    choices: list[ChoiceView]
    free: bool


class SettingsView(ResponseModel):
    """Settings of an agent that can be changed; null where it has no such setting."""

    model: SettingView | None
    permission_mode: SettingView | None


class AgentView(ResponseModel):
    """An agent. `id` is its terminal's, where it has one. `turn` tells whether it works or waits
    for its person, `watched` whether anything reports that; `status` what it does."""

    model_config = ConfigDict(extra="allow")

    id: str
    agent: str
    mode: Literal["tui", "machine"]
    agent_state: Literal["running", "paused", "stopped"]
    turn: Literal["working", "waiting"]
    softlock: Strictness
    watched: bool
    cards: int
    started_at: str
    status: StatusView | None = None
    model: str = ""
    permission_mode: str = ""


class AgentList(ResponseModel):
    """The sandbox's agents."""

    agents: list[AgentView]


class OptionView(ResponseModel):
    """A possible answer."""

    id: str
    label: str
    effect: str


class CardView(ResponseModel):
    """A card; see docs/program/cards.md. A kind a reader does not know is shown as text."""

    model_config = ConfigDict(extra="allow")

    v: int
    seq: int
    n: int
    id: str
    rev: int
    kind: str
    state: Literal["pending", "running", "done", "failed", "declined"]
    at: str
    title: str
    text: str
    data: dict[str, Any]
    options: list[OptionView]
    cut: bool


class CardsView(ResponseModel):
    """Cards in their order. With `reset` they are all cards; `seq` is the next `since`."""

    model_config = ConfigDict(extra="allow")

    type: Literal["cards"]
    v: int
    cards: list[CardView]
    seq: int
    reset: bool
    more: bool
    dropped: int
    agent: AgentView | None
