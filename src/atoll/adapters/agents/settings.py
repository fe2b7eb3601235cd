"""Settings of the agents that a control plane offers."""

from dataclasses import dataclass

from atoll.domain.agents.acp.added import is_added, read_name
from atoll.domain.agents.registry import find
from atoll.domain.errors import Invalid, NotFound


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Settings of agents. Raises `Invalid` for an agent that is not known, or by another name.

    `agent_catalogue`: the agents that may be used; None allows all, an empty list none.
    """

    agent_catalogue: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in self.agent_catalogue or ():
            _check_agent(name)


def _check_agent(name: str) -> None:
    if is_added(name):
        read_name(name)
        return
    try:
        agent = find(name)
    except NotFound as error:
        raise Invalid(f"agent_catalogue: {error.message}", field="agent_catalogue") from error
    if agent.name != name:
        raise Invalid(f"agent_catalogue: write {agent.name} for {name}", field="agent_catalogue")
