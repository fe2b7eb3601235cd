"""Status of one agent: its identity, its lock, and whether its turns are reported.

What types at an agent, what locks its terminal and its session read the same status.
"""

from dataclasses import dataclass

from atoll.domain.terminals.softlock import AgentState, SoftLock, Work
from atoll.wire.attach import AgentStateChanged
from atoll.wire.words.terminals import Strictness


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of an agent. `id` is its terminal's, where it has one; `softlock` says whom its lock
    stops while it works."""

    id: str
    name: str
    mode: str
    started_at: str
    softlock: Strictness = Strictness.OWNER


class AgentStatus:
    """Status of an agent. `reports_turns`: something will report its turns; `has_reported`: it has
    done so."""

    def __init__(
        self, identity: Identity, *, reports_turns: bool = False, has_reported: bool = False
    ) -> None:
        self.identity = identity
        self.lock = SoftLock(identity.softlock)
        self.reports_turns = reports_turns
        self.has_reported = has_reported

    def reported(self) -> None:
        """Note that its turns are reported."""
        self.has_reported = True

    @property
    def works(self) -> bool:
        """True while the agent is at its turn and not paused."""
        return self.lock.state is AgentState.RUNNING and self.lock.work is Work.WORKING

    def message(self) -> AgentStateChanged:
        """Return the message viewers get."""
        lock = self.lock
        return AgentStateChanged(lock.state, lock.work, self.identity.name, lock.strictness)
