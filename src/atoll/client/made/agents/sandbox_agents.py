"""Agents of a sandbox: start, list, prompt and control them, and read and answer their cards
(docs/program/cards.md).

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.agents.agents import AgentStatus
from atoll.client.transport import Pairs, Transport, get, omit_absent, patch, post, query_of

Strictness = Literal["owner", "strict"]


class Choice(Shape):
    """A value that the agent offers, and its name for people."""

    id = fields.text()
    label = fields.text()


class Setting(Shape):
    """A setting. `now` is empty while it is not known; `free` accepts values that are not among
    the choices."""

    now = fields.text()
    choices = fields.many(Choice)
    free = fields.flag()


class AgentSettings(Shape):
    """Settings of an agent that can be changed; null where it has no such setting."""

    model = fields.one(Setting)
    permission_mode = fields.one(Setting)


class Agent(Shape):
    """An agent. `id` is its terminal's, where it has one. `turn` tells whether it works or waits
    for its person, `watched` whether anything reports that; `status` what it does."""

    id = fields.text()
    agent = fields.text()
    mode: Field[Literal["tui", "machine"]] = fields.word()
    agent_state: Field[Literal["running", "paused", "stopped"]] = fields.word()
    turn: Field[Literal["working", "waiting"]] = fields.word()
    softlock: Field[Strictness] = fields.word()
    watched = fields.flag()
    cards = fields.number()
    started_at = fields.text()
    status = fields.one(AgentStatus)
    model = fields.text()
    permission_mode = fields.text()


class AgentList(Shape):
    """The sandbox's agents."""

    agents = fields.many(Agent)


class Option(Shape):
    """A possible answer."""

    id = fields.text()
    label = fields.text()
    effect = fields.text()


class Card(Shape):
    """A card; see docs/program/cards.md. A kind a reader does not know is shown as text."""

    v = fields.number()
    seq = fields.number()
    n = fields.number()
    id = fields.text()
    rev = fields.number()
    kind = fields.text()
    state: Field[Literal["pending", "running", "done", "failed", "declined"]] = fields.word()
    at = fields.text()
    title = fields.text()
    text = fields.text()
    data = fields.one(Shape)
    options = fields.many(Option)
    cut = fields.flag()


class Cards(Shape):
    """Cards in their order. With `reset` they are all cards; `seq` is the next `since`."""

    type: Field[Literal["cards"]] = fields.word()
    v = fields.number()
    cards = fields.many(Card)
    seq = fields.number()
    reset = fields.flag()
    more = fields.flag()
    dropped = fields.number()
    agent = fields.one(Agent)


class AgentBody(TypedDict, total=False):
    """An agent to start, without a `mode` at a terminal where it has that one. `resume` resumes
    its last conversation, `conversation` the one of that id, as `agent.conversation` events name
    it. `permissions: ask` makes a machine request approval before it acts; at a terminal only
    agents that can be told so take it. `softlock: strict` also keeps the owner from typing while
    it works; a sandbox that is strict makes every agent so."""

    agent: Required[str]
    mode: Literal["tui", "machine"]
    prompt: str | None
    resume: bool
    conversation: str | None
    permissions: Literal["allow", "ask"]
    cwd: str | None
    env: dict[str, str] | None
    softlock: Strictness
    cols: int
    rows: int
    name: str | None


class ActionBody(TypedDict, total=False):
    """The action on an agent. `unlock` lets its owner type on while it works. `gaps` are for
    `stop`: seconds after each of three INT, and after TERM, before what comes next."""

    action: Required[Literal["pause", "resume", "stop", "interrupt", "start", "yield", "unlock"]]
    gaps: list[float] | None


class AnswerBody(TypedDict, total=False):
    """An answer to a card: the id of one of its options, or words."""

    option: str | None
    text: str | None


class SettingsBody(TypedDict, total=False):
    """A setting of an agent to change: `model` or `permission_mode`."""

    model: str | None
    permission_mode: str | None


class PlainAgents:
    """The agents of a sandbox. An agent's id is that of its terminal. Every method raises the
    classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str) -> AgentList:
        """Return the sandbox's agents, at terminals and as machines."""
        return self._transport.read(AgentList, get("sandboxes", name, "agents"))

    def start(self, name: str, body: AgentBody) -> Agent:
        """Start an agent at a terminal (`tui`) or driven by programs (`machine`)."""
        return self._transport.read(Agent, post("sandboxes", name, "agents", value=body))

    def settings(self, name: str, agent: str) -> AgentSettings:
        """Return an agent's model and permission mode with the choices; null where it has none."""
        return self._transport.read(
            AgentSettings, get("sandboxes", name, "agents", agent, "settings")
        )

    def change(self, name: str, agent: str, body: SettingsBody) -> AgentSettings:
        """Change the model or the permission mode of an agent in machine mode, as its owner.
        Returns once the agent has accepted it."""
        return self._transport.read(
            AgentSettings, patch("sandboxes", name, "agents", agent, "settings", value=body)
        )

    def ask(self, name: str, agent: str, prompt: str) -> Agent:
        """Give the agent a prompt, in its turn."""
        return self._transport.read(
            Agent,
            post("sandboxes", name, "terminals", agent, "ask", value=omit_absent(prompt=prompt)),
        )

    def cards(self, name: str, agent: str, *, since: int | None = None, query: Pairs = ()) -> Cards:
        """Return the cards that changed after `since`, in their order."""
        return self._transport.read(
            Cards,
            get(
                "sandboxes", name, "terminals", agent, "cards", query=query_of(since=since) + query
            ),
        )

    def answer(self, name: str, agent: str, card: str, body: AnswerBody) -> Card:
        """Answer the question of a card, by one of its options or in words."""
        return self._transport.read(
            Card, post("sandboxes", name, "terminals", agent, "cards", card, "answer", value=body)
        )
