"""Agents as actors of the events in a runtime's journal."""

from collections.abc import Mapping

from atoll.domain.event import Json
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.events import ActorKind

_OWN_STATES = frozenset({"the agent", "asked", "no prompt", "quiet", "ended"})
"""Reasons of state changes that the agent made itself. "asked": it accepted a prompt."""


def acting_agent(sandbox: Sandbox, kind: str, payload: Mapping[str, Json]) -> Principal | None:
    """Return the agent that caused an event of this kind; None where it had another cause.
    The runtime wrote the entry, so its id is no claim from inside."""
    match kind:
        case "agent.tool" | "agent.conversation" | "agent.status":
            own = True
        case "agent.state":
            own = payload.get("why") in _OWN_STATES
        case "agent.ended":
            own = payload.get("why") == "ended"
        case _:
            own = False
    agent_id = payload.get("id")
    return _agent(sandbox, agent_id) if own and isinstance(agent_id, str) else None


def requesting_agent(sandbox: Sandbox, *, beside_command: bool = False) -> Principal:
    """Return the actor of an approval request. The requesting process is unknown outside. So the
    actor is the agent if one runs, and beside it no command from outside and no terminal of a
    person; the sandbox where several may have asked, else Atoll."""
    match sandbox.agents:
        case ():
            return SYSTEM
        case (agent,) if not beside_command:
            return _agent(sandbox, agent.id)
        case _:
            return _agent(sandbox, sandbox.id)


def _agent(sandbox: Sandbox, actor_id: str) -> Principal:
    return Principal(sandbox.org_id, PrincipalId(actor_id), ActorKind.AGENT)
