"""The table of hosts, and their rows."""

from collections.abc import Collection

import msgspec
from sqlalchemy import Column, Table, Text, select

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.hosts.host import Host
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.store.hosts.hosts import HostRows
from atoll.wire.words.sandboxes import State

hosts = Table(
    "hosts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
)
"""A host is the installation's: it has no organization and no owner."""

_sandboxes = msgspec.json.Decoder(Sandbox)


class SqlHostRows(SqlRecords[Host, str], HostRows):
    """The `ports.store.hosts.hosts.HostRows` on one connection."""

    records = RecordTable(
        hosts,
        Host,
        lambda host: {"name": host.name, "id": host.id, "kind": host.kind.value},
        order=(hosts.c.name,),
    )

    async def everything(self) -> list[Host]:
        """See the port."""
        return await self._all()

    async def sandboxes(self, name: str, states: Collection[State] = ()) -> list[Sandbox]:
        """See the port."""
        table = sandboxes.c
        wanted = states or [state for state in State if state is not State.DESTROYED]
        cursor = await self._connection.execute(
            select(table.body)
            .where(table.host == name, table.state.in_(sorted(state.value for state in wanted)))
            .order_by(table.id)
        )
        return [_sandboxes.decode(body) for body in cursor.scalars()]
