"""Agents of a sandbox: start, list, prompt and control them, and read and answer their cards
(docs/program/cards.md)."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.agents.agents import StatusView
from atoll.wire.api.fields import ItemId, JsonObject, SandboxRef, Word
from atoll.wire.api.operation import Answer, Area, OpenAnswer, Request, operation
from atoll.wire.api.terminals import Cell, Env, Path
from atoll.wire.contract.terminals import MAX_LISTED
from atoll.wire.words.agents import MAX_CARDS, MAX_PROMPT
from atoll.wire.words.events import MAX_POSITION
from atoll.wire.words.terminals import Strictness

Prompt = Annotated[str, Meta(min_length=1, max_length=MAX_PROMPT)]
Conversation = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}\Z")]
Gap = Annotated[float, Meta(ge=0, le=10)]
Since = Annotated[
    int, Meta(description="Only cards that changed after this `seq`.", ge=0, le=MAX_POSITION)
]


class AgentBody(Request, kw_only=True):
    """An agent to start, without a `mode` at a terminal where it has that one. `resume` resumes its
    last conversation, `conversation` the one of that id, as `agent.conversation` events name it.
    `permissions: ask` makes a machine request approval before it acts; at a terminal only agents
    that can be told so take it. `softlock: strict` also keeps the owner from typing while it works;
    a sandbox that is strict makes every agent so."""

    agent: Word
    mode: Literal["tui", "machine"] = "tui"
    prompt: Prompt | None = None
    resume: bool = False
    conversation: Conversation | None = None
    permissions: Literal["allow", "ask"] = "allow"
    cwd: Path | None = None
    env: Env | None = None
    softlock: Strictness = Strictness.OWNER
    cols: Cell = 80
    rows: Cell = 24
    name: Word | None = None


class ActionBody(Request):
    """The action on an agent. `unlock` lets its owner type on while it works. `gaps` are for
    `stop`: seconds after each of three INT, and after TERM, before what comes next."""

    action: Literal["pause", "resume", "stop", "interrupt", "start", "yield", "unlock"]
    gaps: Annotated[list[Gap], Meta(min_length=4, max_length=4)] | None = None


class PromptBody(Request):
    """A prompt."""

    prompt: Prompt


class AnswerBody(Request):
    """An answer to a card: the id of one of its options, or words."""

    option: Annotated[str, Meta(min_length=1, max_length=300)] | None = None
    text: Prompt | None = None


class SettingsBody(Request):
    """A setting of an agent to change: `model` or `permission_mode`."""

    model: Word | None = None
    permission_mode: Word | None = None


class ChoiceView(Answer):
    """A value that the agent offers, and its name for people."""

    id: str
    label: str


class SettingView(Answer):
    """A setting. `now` is empty while it is not known; `free` accepts values that are not among
    the choices."""

    now: str
    choices: list[ChoiceView]
    free: bool


class SettingsView(Answer):
    """Settings of an agent that can be changed; null where it has no such setting."""

    model: SettingView | None
    permission_mode: SettingView | None


class AgentView(OpenAnswer):
    """An agent. `id` is its terminal's, where it has one. `turn` tells whether it works or waits
    for its person, `watched` whether anything reports that; `status` what it does."""

    id: str
    agent: str
    mode: Literal["tui", "machine"]
    agent_state: Literal["running", "paused", "stopped"]
    turn: Literal["working", "waiting"]
    softlock: Strictness
    watched: bool
    cards: int
    started_at: str
    status: StatusView | None
    model: str
    permission_mode: str


class AgentList(Answer):
    """The sandbox's agents."""

    agents: list[AgentView]


class OptionView(Answer):
    """A possible answer."""

    id: str
    label: str
    effect: str


class CardView(OpenAnswer):
    """A card; see docs/program/cards.md. A kind a reader does not know is shown as text."""

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
    data: JsonObject
    options: list[OptionView]
    cut: bool


class CardsView(OpenAnswer):
    """Cards in their order. With `reset` they are all cards; `seq` is the next `since`."""

    type: Literal["cards"]
    v: int
    cards: list[CardView]
    seq: int
    reset: bool
    more: bool
    dropped: int
    agent: AgentView | None


_FAILURES = (404, 409, 413, 502)


class Agents(Area):
    """The agents of a sandbox. An agent's id is that of its terminal."""

    tag = "agents"
    needs = "agent.use"

    @operation(
        "GET /v1/sandboxes/{sandbox}/agents",
        name="list_agents",
        needs="agent.read",
        problems=_FAILURES,
        max_items=MAX_LISTED + 32,
    )
    def list(self, sandbox: SandboxRef) -> AgentList:
        """Return the sandbox's agents, at terminals and as machines."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/agents", name="open_agent", status=201, problems=_FAILURES
    )
    def start(self, sandbox: SandboxRef, body: AgentBody) -> AgentView:
        """Start an agent at a terminal (`tui`) or driven by programs (`machine`)."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/agents/{agent}",
        name="get_agent",
        needs="agent.read",
        problems=_FAILURES,
    )
    def get(self, sandbox: SandboxRef, agent: ItemId) -> AgentView:
        """Return one agent."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/agents/{agent}/settings",
        name="get_agent_settings",
        needs="agent.read",
        problems=_FAILURES,
    )
    def settings(self, sandbox: SandboxRef, agent: ItemId) -> SettingsView:
        """Return an agent's model and permission mode with the choices; null where it has none."""

    @operation(
        "PATCH /v1/sandboxes/{sandbox}/agents/{agent}/settings",
        name="change_agent",
        problems=_FAILURES,
    )
    def change(self, sandbox: SandboxRef, agent: ItemId, body: SettingsBody) -> SettingsView:
        """Change the model or the permission mode of an agent in machine mode, as its owner.
        Returns once the agent has accepted it."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/agent",
        name="act_on_agent",
        problems=_FAILURES,
    )
    def act(self, sandbox: SandboxRef, terminal: ItemId, body: ActionBody) -> AgentView:
        """Pause, resume, interrupt or stop the agent. `start` and `yield` set whose turn it is
        where the agent itself cannot report it."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/ask",
        name="ask_agent",
        status=202,
        problems=_FAILURES,
    )
    def ask(self, sandbox: SandboxRef, terminal: ItemId, body: PromptBody) -> AgentView:
        """Give the agent a prompt, in its turn."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/terminals/{terminal}/cards",
        name="list_cards",
        needs="agent.read",
        problems=_FAILURES,
        max_items=MAX_CARDS,
    )
    def cards(self, sandbox: SandboxRef, terminal: ItemId, *, since: Since = 0) -> CardsView:
        """Return the cards that changed after `since`, in their order."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/terminals/{terminal}/cards/{card}/answer",
        name="answer_card",
        problems=_FAILURES,
    )
    def answer(
        self, sandbox: SandboxRef, terminal: ItemId, card: ItemId, body: AnswerBody
    ) -> CardView:
        """Answer the question of a card, by one of its options or in words."""
