"""Tables and rows of what is derived from the log, and tallies of what is monitored."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import (
    BigInteger,
    Column,
    PrimaryKeyConstraint,
    Row,
    Select,
    Table,
    Text,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.approvals import approvals
from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.events import newest_position
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.event import SANDBOX_STREAMS
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.projection import ModelState, StoredModel
from atoll.domain.sandboxes.reported import AGENTS, read_agents
from atoll.domain.sandboxes.sandbox import RUNNING
from atoll.ports.database import ProjectionLag
from atoll.ports.store.projections import ProjectionRows, TallyRows
from atoll.wire.words.approvals import ApprovalState
from atoll.wire.words.sandboxes import State

positions = Table(
    "projections",
    metadata,
    Column("name", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
)
"""The position in the log up to which each projection is derived."""

states = Table(
    "projection_states",
    metadata,
    Column("name", Text, nullable=False),
    Column("stream", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("body", Text),
    Column("kept_position", BigInteger),
    Column("kept_body", Text),
    PrimaryKeyConstraint("name", "stream"),
)
"""The state of each stream, and (`kept_…`) its snapshot of when events before it were removed."""

_sandbox_stream = literal(SANDBOX_STREAMS).concat(sandboxes.c.id)


class SqlProjectionRows(ProjectionRows):
    """The `ports.store.projections.ProjectionRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def position(self, name: str) -> int:
        """See the port."""
        cursor = await self._connection.execute(
            select(positions.c.position).where(positions.c.name == name)
        )
        return cursor.scalar_one_or_none() or 0

    async def set_position(self, name: str, position: int) -> None:
        """See the port."""
        changed = await self._connection.execute(
            update(positions).where(positions.c.name == name).values(position=position)
        )
        if changed.rowcount == 0:
            await self._connection.execute(insert(positions), {"name": name, "position": position})

    async def states(self, name: str, streams: Sequence[str]) -> Mapping[str, ModelState]:
        """See the port."""
        if not streams:
            return {}
        cursor = await self._connection.execute(
            _select_states(name).where(states.c.stream.in_(streams))
        )
        return dict(map(_state, cursor))

    async def owned(self, name: str, org_id: OrgId, owner: PrincipalId) -> Mapping[str, ModelState]:
        """See the port."""
        cursor = await self._connection.execute(
            _select_states(name)
            .join(sandboxes, states.c.stream == _sandbox_stream)
            .where(sandboxes.c.org_id == org_id, sandboxes.c.owner == owner)
        )
        return dict(map(_state, cursor))

    async def put(self, name: str, stream: str, state: ModelState) -> None:
        """See the port."""
        own = (states.c.name == name, states.c.stream == stream)
        if state.body is None:
            without = states.c.kept_position.is_(None)
            await self._connection.execute(delete(states).where(*own, without))
        values = {"position": state.position, "body": state.body}
        changed = await self._connection.execute(update(states).where(*own).values(values))
        if changed.rowcount == 0 and state.body is not None:
            await self._connection.execute(
                insert(states), {"name": name, "stream": stream, **values}
            )

    async def keep(self, stream: str) -> None:
        """See the port."""
        own, column = states.c.stream == stream, states.c
        await self._connection.execute(delete(states).where(own, column.body.is_(None)))
        await self._connection.execute(
            update(states).where(own).values(kept_position=column.position, kept_body=column.body)
        )

    async def stored(self, name: str) -> Mapping[str, StoredModel]:
        """See the port."""
        cursor = await self._connection.execute(select(states).where(states.c.name == name))
        return {
            row.stream: StoredModel(
                None if row.body is None else ModelState(row.body, row.position),
                None if row.kept_body is None else ModelState(row.kept_body, row.kept_position),
            )
            for row in cursor
        }


class SqlTallyRows(TallyRows):
    """The `ports.store.projections.TallyRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def sandboxes(self) -> Mapping[str, int]:
        """See the port."""
        state = sandboxes.c.state
        live = [state.value for state in State if state is not State.DESTROYED]
        cursor = await self._connection.execute(
            select(state, func.count()).where(state.in_(live)).group_by(state)
        )
        return {row[0]: row[1] for row in cursor}

    async def agents(self) -> Mapping[str, int]:
        """See the port."""
        running = [state.value for state in RUNNING]
        cursor = await self._connection.execute(
            select(states.c.body)
            .join(sandboxes, states.c.stream == _sandbox_stream)
            .where(states.c.name == AGENTS.name, sandboxes.c.state.in_(running))
        )
        return Counter(
            agent.status.status for body in cursor.scalars() for agent in read_agents(body)
        )

    async def approvals(self) -> int:
        """See the port."""
        waiting = approvals.c.verdict == ApprovalState.PENDING.value
        cursor = await self._connection.execute(
            select(func.count()).select_from(approvals).where(waiting)
        )
        return cursor.scalar_one()


async def lags(connection: AsyncConnection) -> list[ProjectionLag]:
    """Return how far behind the log each projection is."""
    newest = (await connection.execute(newest_position)).scalar_one() or 0
    cursor = await connection.execute(select(positions).order_by(positions.c.name))
    return [ProjectionLag(row.name, row.position, newest - row.position) for row in cursor]


def _select_states(name: str) -> Select[str, str | None, int]:
    """Return the query for the states of a projection that were not removed."""
    return select(states.c.stream, states.c.body, states.c.position).where(
        states.c.name == name, states.c.body.is_not(None)
    )


def _state(row: Row[str, str | None, int]) -> tuple[str, ModelState]:
    return row.stream, ModelState(row.body, row.position)
