"""Turns of agents after which a snapshot is taken. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from atoll.domain.sandboxes.reported import ReportedAgent

TURN_STILL_MS: Final = 250
"""The longest time for which whoever writes inside waits for a snapshot after a turn: the next
turn may have begun. A disk that shares blocks needs milliseconds."""

TurnCounts: TypeAlias = Mapping[str, int]
"""The turns that ended in a sandbox, by the id of their agent."""


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """A turn that ended: the one with this `number`, from 1, of the agent `agent_id`. `agent` is
    what that is, such as `codex`."""

    agent: str
    agent_id: str
    number: int


def count_turns(agents: Iterable[ReportedAgent]) -> TurnCounts:
    """Return how many turns of each agent ended."""
    return {agent.id: agent.status.turns for agent in agents}


def find_ended_turn(agents: Iterable[ReportedAgent], before: TurnCounts) -> AgentTurn | None:
    """Return the turn that ended last since there were so many, None if none did. `agents` are in
    the order in which they changed. An agent that began anew counts from 0."""
    ended = None
    for agent in agents:
        turns = agent.status.turns
        if turns and turns != before.get(agent.id, 0):
            ended = AgentTurn(agent.agent, agent.id, turns)
    return ended


def find_last_turn(
    agents: Iterable[ReportedAgent], now: datetime
) -> tuple[AgentTurn, datetime] | None:
    """Return the last turn that these agents report, and when it was over at the latest; None where
    no turn ended. It is for whoever did not see them before."""
    last: tuple[AgentTurn, datetime] | None = None
    for agent in agents:
        at = _read_time(agent.status.since, now)
        if agent.status.turns and (last is None or at >= last[1]):
            last = AgentTurn(agent.agent, agent.id, agent.status.turns), at
    return last


def _read_time(text: str, now: datetime) -> datetime:
    """Return the time that a runtime wrote, never one to come; for what is none it is now."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return now
    return min(now, at if at.tzinfo is not None else at.replace(tzinfo=UTC))
