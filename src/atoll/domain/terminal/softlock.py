"""The soft lock: whether a person may type to an agent now (design R1).

It follows the agent's work: closed from the moment it begins a turn until it ends or asks its
person. Pure: what happened comes in as calls, `refusal` says what typing is answered with.
Where an agent's work comes from (hooks, transcripts, its own protocol) is not known here.
"""

from dataclasses import dataclass
from enum import StrEnum


class AgentState(StrEnum):
    """What an agent's processes do, by the multiplayer protocol's three words."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class Work(StrEnum):
    """Whose turn it is while the agent runs: it works, or it waits for its person."""

    WORKING = "working"
    WAITING = "waiting"


class Locked(StrEnum):
    """Why typing is refused; stable codes."""

    RUNNING = "agent_running"
    PAUSED = "agent_paused"


REASONS = {
    Locked.RUNNING: "the agent is working: wait until it is done, or interrupt, pause or stop it",
    Locked.PAUSED: "the agent is paused, and what is typed now must not reach it later: resume "
    "it first, or type in another terminal",
}


@dataclass(slots=True)
class SoftLock:
    """One agent's lock. Every method says whether anything changed.

    An agent whose work nobody can tell of is locked by `began` and freed by `yielded` alone,
    which somebody then calls explicitly.
    """

    state: AgentState = AgentState.RUNNING
    work: Work = Work.WAITING

    @property
    def refusal(self) -> Locked | None:
        """Why nobody may type now; None while they may. A stopped agent refuses nothing: its
        terminal has ended, and says so itself."""
        match self.state:
            case AgentState.STOPPED:
                return None
            case AgentState.PAUSED:
                return Locked.PAUSED
            case AgentState.RUNNING:  # pragma: no branch - the cases are all
                return Locked.RUNNING if self.work is Work.WORKING else None

    def began(self) -> bool:
        """The agent took the turn."""
        return self._work(Work.WORKING)

    def yielded(self) -> bool:
        """The agent ended its turn, or asks its person."""
        return self._work(Work.WAITING)

    def paused(self) -> bool:
        """Its processes were stopped. Its work stays what it was: it goes on when resumed."""
        return self._go(AgentState.PAUSED, unless=AgentState.STOPPED)

    def resumed(self) -> bool:
        """Its processes go on."""
        return self._go(AgentState.RUNNING, unless=AgentState.STOPPED)

    def stopped(self) -> bool:
        """It is gone, for good."""
        self.work = Work.WAITING
        return self._go(AgentState.STOPPED)

    def _work(self, work: Work) -> bool:
        if self.state is AgentState.STOPPED or self.work is work:
            return False
        self.work = work
        return True

    def _go(self, state: AgentState, *, unless: AgentState | None = None) -> bool:
        if self.state in (state, unless):
            return False
        self.state = state
        return True
