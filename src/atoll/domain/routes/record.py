"""A stored decision, and what came of it."""

from dataclasses import dataclass, replace
from datetime import datetime

from atoll.domain.ids import OrgId, PrincipalId, RouteId, SandboxId
from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.decision import Decision
from atoll.domain.routes.health import Attempt


@dataclass(frozen=True, slots=True)
class Move:
    """An evacuation that brought the files of a sandbox from one host to another."""

    source: str
    target: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RouteRecord:
    """The decision for a sandbox, and the attempts and the moves since, oldest first."""

    id: RouteId
    sandbox_id: SandboxId
    org_id: OrgId
    owner: PrincipalId
    at: datetime
    decision: Decision
    attempts: tuple[Attempt, ...] = ()
    moves: tuple[Move, ...] = ()

    def after(self, attempt: Attempt) -> "RouteRecord":
        """Return the record with one more attempt."""
        return replace(self, attempts=(*self.attempts, attempt))

    def moved(self, move: Move) -> "RouteRecord":
        """Return the record with one more move."""
        return replace(self, moves=(*self.moves, move))

    def left(self) -> tuple[Candidate, ...]:
        """Return the candidates that were fit and not tried, in order. An explicit choice leaves
        none."""
        if self.decision.explicit:
            return ()
        tried = {(one.extension, one.host, one.region) for one in self.attempts}
        return tuple(
            one
            for one in self.decision.fit
            if (one.extension, one.host, one.rented_in) not in tried
        )
