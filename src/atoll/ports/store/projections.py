"""States of projections, derived from the log, and tallies over all that are monitored."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.projection import ModelState, StoredModel


class ProjectionRows(Protocol):
    """The states of each projection by stream, and the position in the log up to which it is
    derived. `domain.projection` says what a state is."""

    async def position(self, name: str) -> int:
        """Return the position up to which a projection is derived, 0 for a new one."""
        ...

    async def set_position(self, name: str, position: int) -> None:
        """Store the position, in the transaction of the states that it is about."""
        ...

    async def states(self, name: str, streams: Sequence[str]) -> Mapping[str, ModelState]:
        """Return the states of these streams, by stream; one without a state is missing."""
        ...

    async def owned(self, name: str, org_id: OrgId, owner: PrincipalId) -> Mapping[str, ModelState]:
        """Return the states of the streams of an owner's sandboxes."""
        ...

    async def put(self, name: str, stream: str, state: ModelState) -> None:
        """Store the state of a stream; one without a body is removed, unless a snapshot of the
        stream is kept."""
        ...

    async def keep(self, stream: str) -> None:
        """Make the present states of a stream its snapshots: events before them are removed."""
        ...

    async def stored(self, name: str) -> Mapping[str, StoredModel]:
        """Return what is stored of every stream of a projection, also of those that ended and have
        a snapshot."""
        ...


class TallyRows(Protocol):
    """Tallies of the whole installation, for monitoring: how many of what, and never whose. Each
    is one statement that reads an index or a small table."""

    async def sandboxes(self) -> Mapping[str, int]:
        """Return how many sandboxes there are by state, without those that are destroyed. A state
        of none is missing."""
        ...

    async def agents(self) -> Mapping[str, int]:
        """Return how many agents of running sandboxes there are by status. A status of none is
        missing."""
        ...

    async def approvals(self) -> int:
        """Return how many requests wait for a person's decision."""
        ...
