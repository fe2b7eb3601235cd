"""Tables and rows of people's decisions on project files."""

import msgspec
from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.elements import ColumnElement

from atoll.adapters.storage.columns import metadata, to_us
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.repository.project import MAX_DECISIONS, DecidedProject
from atoll.ports.store.projects import ProjectRows

projects = Table(
    "projects",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("repository", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("decided_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("org_id", "owner", "repository", "digest"),
)

_decoder = msgspec.json.Decoder(DecidedProject)


class SqlProjectRows(ProjectRows):
    """The `ports.store.projects.ProjectRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, decided: DecidedProject) -> None:
        """See the port."""
        key = _of(decided.org_id, decided.owner, decided.repository)
        kept = await self.of(decided.org_id, decided.owner, decided.repository)
        others = [one.digest for one in kept if one.digest != decided.digest]
        gone = [decided.digest, *others[MAX_DECISIONS - 1 :]]
        await self._connection.execute(
            delete(projects).where(*key, projects.c.digest.in_(gone)),
        )
        await self._connection.execute(
            insert(projects),
            {
                "org_id": decided.org_id,
                "owner": decided.owner,
                "repository": decided.repository,
                "digest": decided.digest,
                "decided_us": to_us(decided.decided_at),
                "body": msgspec.json.encode(decided).decode(),
            },
        )

    async def of(self, org_id: OrgId, owner: PrincipalId, repository: str) -> list[DecidedProject]:
        """See the port."""
        return await self._found(*_of(org_id, owner, repository))

    async def all(self, org_id: OrgId, owner: PrincipalId) -> list[DecidedProject]:
        """See the port."""
        return await self._found(projects.c.org_id == org_id, projects.c.owner == owner)

    async def forget(self, org_id: OrgId, owner: PrincipalId, repository: str) -> int:
        """See the port."""
        done = await self._connection.execute(
            delete(projects).where(*_of(org_id, owner, repository))
        )
        return done.rowcount

    async def _found(self, *wanted: ColumnElement[bool]) -> list[DecidedProject]:
        found = await self._connection.execute(
            select(projects.c.body)
            .where(*wanted)
            .order_by(projects.c.decided_us.desc(), projects.c.digest)
        )
        return [_decoder.decode(body) for body in found.scalars()]


def _of(org_id: OrgId, owner: PrincipalId, repository: str) -> tuple[ColumnElement[bool], ...]:
    table = projects.c
    return (table.org_id == org_id, table.owner == owner, table.repository == repository)
