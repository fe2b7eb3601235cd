"""Tallies over the tables of sandboxes, agents and approvals."""

from collections.abc import Mapping

from sqlalchemy import JSON, Select, cast, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.approvals import approvals
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.adapters.storage.statuses import statuses
from atoll.domain.approvals.approval import ApprovalState
from atoll.domain.sandbox.sandbox import RUNNING, State
from atoll.ports.store.tallies import TallyRows


class SqlTallyRows(TallyRows):
    """The `ports.store.tallies.TallyRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def sandboxes(self) -> Mapping[str, int]:
        """See the port."""
        state = sandboxes.c.state
        live = [one.value for one in State if one is not State.DESTROYED]
        return await self._counts(
            select(state, func.count()).where(state.in_(live)).group_by(state)
        )

    async def agents(self) -> Mapping[str, int]:
        """See the port."""
        # SQLite reads JSON out of a text; a cast there would make a number of it.
        sqlite = self._connection.dialect.name == "sqlite"
        body = type_coerce(statuses.c.body, JSON) if sqlite else cast(statuses.c.body, JSON)
        status = body[("status", "status")].as_string().label("status")
        running = [one.value for one in RUNNING]
        return await self._counts(
            select(status, func.count())
            .join(sandboxes, sandboxes.c.id == statuses.c.sandbox_id)
            .where(sandboxes.c.state.in_(running))
            .group_by(status)
        )

    async def approvals(self) -> int:
        """See the port."""
        waiting = approvals.c.verdict == ApprovalState.PENDING.value
        found = await self._connection.execute(
            select(func.count()).select_from(approvals).where(waiting)
        )
        return found.scalar_one()

    async def _counts(self, query: Select[str, int]) -> Mapping[str, int]:
        found = await self._connection.execute(query)
        return {row[0]: row[1] for row in found}
