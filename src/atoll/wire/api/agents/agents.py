"""Agents: those of an installation, what they do, and the shapes of it."""

from typing import Literal

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.contract.agents import StatusKind
from atoll.wire.words.agents import MAX_AGENTS, ReadinessState


class StatusOptionView(Answer):
    """A possible answer."""

    id: str
    label: str
    effect: str


class StatusView(Answer):
    """Status of an agent. `since` is when that began; `on` is the last tool or sentence. Where it
    needs its person, `question` is on the card `card`, and `answer` says how to answer: by the
    agent's `protocol` (with one of `options`, or in words where `words` is true), or at its
    `terminal`. `commits`, `plus` and `minus` are null where they are not known."""

    status: StatusKind
    since: str
    on: str
    question: str
    card: str
    answer: Literal["", "protocol", "terminal"]
    options: list[StatusOptionView]
    words: bool
    turns: int
    reason: str
    commits: int | None
    plus: int | None
    minus: int | None


class InstallView(Answer):
    """An install. `expected` is 0 when nobody knows; `failed` says why it ended."""

    bytes: int
    expected: int
    failed: str | None


class CatalogueEntry(Answer):
    """An agent of this installation. `mend` says what to do about `reason`; `prompts`: it takes a
    task, `machine`: programs may drive it, `asks_at_terminal`: there, too, it can be told to ask
    before it acts."""

    name: str
    aliases: list[str]
    state: ReadinessState
    reason: str | None
    mend: str | None
    providers: list[str]
    about_mib: int
    installable: bool
    prompts: bool
    machine: bool
    asks_at_terminal: bool
    install: InstallView | None


class CatalogueList(Answer):
    """Every agent, those that work first."""

    agents: list[CatalogueEntry]


class PlacedAgentView(Answer):
    """An agent, its sandbox, and what it does."""

    sandbox_id: str
    sandbox_name: str
    sandbox_state: str
    id: str
    agent: str
    mode: str
    status: StatusView


class PlacedAgentList(Answer):
    """The agents of all sandboxes, those that need their person first."""

    agents: list[PlacedAgentView]
    next: str | None


class AgentCatalogue(Area):
    """The agents of an installation."""

    tag = "agents"
    needs = "agent.read"

    @operation("GET /v1/agent-catalogue", name="list_agent_catalogue", max_items=MAX_AGENTS)
    def list(self) -> CatalogueList:
        """Return every agent Atoll knows, and whether it works here."""

    @operation(
        "POST /v1/agent-catalogue/{agent}/install",
        name="install_agent",
        status=202,
        needs="agent.install",
        problems=(404, 409),
    )
    def install(self, agent: ItemId) -> InstallView:
        """Install the pinned version of an agent; the catalogue shows the progress."""


class AgentStatuses(Area):
    """The statuses of all agents."""

    tag = "agents"
    needs = "agent.read"

    @operation("GET /v1/agents", name="list_all_agents")
    def list(self, *, page: Paging = FIRST_PAGE) -> PlacedAgentList:
        """Return the agents of all sandboxes, those that need their person first."""
