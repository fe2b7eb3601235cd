"""The table of hosts, and their rows."""

from collections.abc import Collection

import msgspec
from sqlalchemy import Column, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.host.host import Host
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports.store.host.hosts import HostRows
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

_hosts = msgspec.json.Decoder(Host)
_sandboxes = msgspec.json.Decoder(Sandbox)


class SqlHostRows(HostRows):
    """The `ports.store.host.hosts.HostRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, host: Host) -> None:
        """See the port."""
        await self.remove(host.name)
        await self._connection.execute(
            insert(hosts),
            {
                "name": host.name,
                "id": host.id,
                "kind": host.kind.value,
                "body": msgspec.json.encode(host).decode(),
            },
        )

    async def everything(self) -> list[Host]:
        """See the port."""
        found = await self._connection.execute(select(hosts.c.body).order_by(hosts.c.name))
        return [_hosts.decode(body) for body in found.scalars()]

    async def remove(self, name: str) -> None:
        """See the port."""
        await self._connection.execute(delete(hosts).where(hosts.c.name == name))

    async def sandboxes(self, name: str, states: Collection[State] = ()) -> list[Sandbox]:
        """See the port."""
        table = sandboxes.c
        wanted = states or [state for state in State if state is not State.DESTROYED]
        found = await self._connection.execute(
            select(table.body)
            .where(table.host == name, table.state.in_(sorted(state.value for state in wanted)))
            .order_by(table.id)
        )
        return [_sandboxes.decode(body) for body in found.scalars()]
