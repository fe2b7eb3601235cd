"""The tables of routes: decisions, rules and outcomes, and their rows."""

from collections.abc import Collection, Mapping

import msgspec
from sqlalchemy import Column, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import OrgId, RouteId
from atoll.domain.routes.health import MOST, Outcome
from atoll.domain.routes.policy import NO_RULES, RouteRules
from atoll.domain.routes.record import RouteRecord
from atoll.ports.store.hosts.routes import Place, RouteRows

routes = Table(
    "routes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("body", Text, nullable=False),
)

route_rules = Table(
    "route_rules",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("body", Text, nullable=False),
)
"""The rules of the installation are those of the organization without a name."""

route_outcomes = Table(
    "route_outcomes",
    metadata,
    Column("extension", Text, primary_key=True),
    Column("place", Text, primary_key=True),
    Column("body", Text, nullable=False),
)
"""Outcomes are the installation's: they name nobody's sandbox."""

_INSTALLATION = ""
_records = msgspec.json.Decoder(RouteRecord)
_rules = msgspec.json.Decoder(RouteRules)
_outcomes = msgspec.json.Decoder(tuple[Outcome, ...])


class SqlRouteRows(RouteRows):
    """The `ports.store.hosts.routes.RouteRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, record: RouteRecord) -> None:
        """See the port."""
        await self._connection.execute(delete(routes).where(routes.c.id == record.id))
        await self._connection.execute(
            insert(routes),
            {
                "id": record.id,
                "org_id": record.org_id,
                "owner": record.owner,
                "sandbox_id": record.sandbox_id,
                "body": msgspec.json.encode(record).decode(),
            },
        )

    async def get(self, route_id: RouteId) -> RouteRecord | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(routes.c.body).where(routes.c.id == route_id)
        )
        body = cursor.scalar()
        return None if body is None else _records.decode(body)

    async def put_rules(self, org_id: OrgId | None, rules: RouteRules) -> None:
        """See the port."""
        whose = org_id or _INSTALLATION
        await self._connection.execute(delete(route_rules).where(route_rules.c.org_id == whose))
        if rules != NO_RULES:
            body = msgspec.json.encode(rules).decode()
            await self._connection.execute(insert(route_rules), {"org_id": whose, "body": body})

    async def rules(self, org_id: OrgId | None) -> RouteRules:
        """See the port."""
        whose = org_id or _INSTALLATION
        cursor = await self._connection.execute(
            select(route_rules.c.body).where(route_rules.c.org_id == whose)
        )
        body = cursor.scalar()
        return NO_RULES if body is None else _rules.decode(body)

    async def note(self, place: Place, outcome: Outcome) -> None:
        """See the port."""
        extension, where = place
        table = route_outcomes.c
        this = (table.extension == extension, table.place == where)
        cursor = await self._connection.execute(select(table.body).where(*this))
        body = cursor.scalar()
        before = () if body is None else _outcomes.decode(body)
        newest = (*before, outcome)[-MOST:]
        await self._connection.execute(delete(route_outcomes).where(*this))
        await self._connection.execute(
            insert(route_outcomes),
            {
                "extension": extension,
                "place": where,
                "body": msgspec.json.encode(newest).decode(),
            },
        )

    async def forget(self, host: str) -> None:
        """See the port."""
        await self._connection.execute(delete(route_outcomes).where(route_outcomes.c.place == host))

    async def outcomes(self, extensions: Collection[str]) -> Mapping[Place, tuple[Outcome, ...]]:
        """See the port."""
        table = route_outcomes.c
        cursor = await self._connection.execute(
            select(table.extension, table.place, table.body).where(
                table.extension.in_(sorted(extensions))
            )
        )
        return {(row.extension, row.place): _outcomes.decode(row.body) for row in cursor}
