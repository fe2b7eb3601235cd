"""Agents as actors: which events of a runtime's journal tell of what an agent did itself."""

from collections.abc import Mapping

from atoll.domain.event import Json
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import SYSTEM, ActorKind, Principal
from atoll.domain.sandbox.sandbox import Sandbox

_OWN_STATES = frozenset({"the agent", "asked", "no prompt", "ended"})
"""Why its state changed, where nobody but the agent changed it. "asked": it took up a prompt."""


def acting_agent(sandbox: Sandbox, kind: str, payload: Mapping[str, Json]) -> Principal | None:
    """The agent that did what an event of this kind tells of; None where somebody else did.
    The runtime wrote the entry, so its id is no claim from inside."""
    match kind:
        case "agent.tool" | "agent.conversation":
            own = True
        case "agent.state":
            own = payload.get("why") in _OWN_STATES
        case "agent.ended":
            own = payload.get("why") == "ended"
        case _:
            own = False
    agent_id = payload.get("id")
    return _agent(sandbox, agent_id) if own and isinstance(agent_id, str) else None


def asking_agent(sandbox: Sandbox) -> Principal:
    """Who raised an ask from inside. Which process it was is not known outside: the agent where
    one runs, the sandbox's agents together, by its id, where several do, else Atoll."""
    match sandbox.agents:
        case ():
            return SYSTEM
        case (seat,):
            return _agent(sandbox, seat.id)
        case _:
            return _agent(sandbox, sandbox.id)


def _agent(sandbox: Sandbox, actor_id: str) -> Principal:
    return Principal(sandbox.org_id, PrincipalId(actor_id), ActorKind.AGENT)
