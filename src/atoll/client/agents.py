"""Agents over the API: those of a sandbox and their cards, and those of an installation."""

from atoll.client.bodies import Action
from atoll.client.made.agents.agents import CatalogueEntry, CatalogueList, Install
from atoll.client.made.agents.sandbox_agents import (
    Agent,
    AgentBody,
    AgentList,
    AgentSettings,
    AnswerBody,
    Card,
    Cards,
    SettingsBody,
)
from atoll.client.transport import ANSWER_SECONDS, Call, Transport, get, patch, post


class Agents:
    """The agents of a sandbox. An agent's id is that of its terminal."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str) -> AgentList:
        """Return the agents of a sandbox, in the order of their starts."""
        return self._transport.read(AgentList, get("sandboxes", name, "agents"))

    def start(self, name: str, body: AgentBody) -> Agent:
        """Start an agent."""
        return self._transport.read(Agent, post("sandboxes", name, "agents", value=body))

    def act(
        self, name: str, agent: str, *, action: Action, seconds: float = ANSWER_SECONDS
    ) -> Agent:
        """Pause, resume, interrupt or stop an agent, waiting at most `seconds`."""
        call = post("sandboxes", name, "terminals", agent, "agent", value={"action": action})
        patient = Call(call.method, call.path, call.query, call.headers, call.body, seconds)
        return self._transport.read(Agent, patient)

    def settings(self, name: str, agent: str) -> AgentSettings:
        """Return an agent's settings and their choices."""
        return self._transport.read(
            AgentSettings, get("sandboxes", name, "agents", agent, "settings")
        )

    def change(self, name: str, agent: str, body: SettingsBody) -> AgentSettings:
        """Change a setting; returns once the agent has accepted it."""
        call = patch("sandboxes", name, "agents", agent, "settings", value=body)
        return self._transport.read(AgentSettings, call)

    def ask(self, name: str, agent: str, prompt: str) -> Agent:
        """Give an agent a prompt. Raises `Conflict` while it takes none."""
        call = post("sandboxes", name, "terminals", agent, "ask", value={"prompt": prompt})
        return self._transport.read(Agent, call)

    def cards(self, name: str, agent: str, *, since: int) -> Cards:
        """Return the cards that changed after `since`."""
        query = (("since", str(since)),)
        call = get("sandboxes", name, "terminals", agent, "cards", query=query)
        return self._transport.read(Cards, call)

    def answer(self, name: str, agent: str, card: str, body: AnswerBody) -> Card:
        """Answer a card."""
        place = ("sandboxes", name, "terminals", agent, "cards", card, "answer")
        return self._transport.read(Card, post(*place, value=body))


class AgentCatalogue:
    """The agents of an installation. Commands make it as `AgentCatalogue(client.transport)`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> CatalogueList:
        """Return every agent, those that work first."""
        return self._transport.read(CatalogueList, get("agent-catalogue"))

    def find(self, name: str) -> CatalogueEntry | None:
        """Return the agent of this name or alias; None for none."""
        plain = name.partition("@")[0]
        for agent in self.list().agents:
            if plain == agent.name or plain in agent.aliases:
                return agent
        return None

    def install(self, name: str) -> Install:
        """Begin to install an agent where the server is."""
        return self._transport.read(Install, post("agent-catalogue", name, "install"))
