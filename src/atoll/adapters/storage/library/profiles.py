"""Tables and rows of people's own profiles."""

import msgspec
from sqlalchemy import Column, PrimaryKeyConstraint, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.profile.profile import Profile
from atoll.ports.store.library.profiles import ProfileRows

profiles = Table(
    "profiles",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("org_id", "id", "version"),
)

_decoder = msgspec.json.Decoder(Profile)


class SqlProfileRows(ProfileRows):
    """The `ports.store.library.profiles.ProfileRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def all(self, org_id: OrgId) -> list[Profile]:
        """See the port."""
        cursor = await self._connection.execute(
            select(profiles.c.body).where(profiles.c.org_id == org_id)
        )
        return [_decoder.decode(body) for body in cursor.scalars()]

    async def save(self, org_id: OrgId, owner: PrincipalId, profile: Profile) -> None:
        """See the port."""
        await self.delete(org_id, profile.id, profile.version)
        await self._connection.execute(
            insert(profiles),
            {
                "org_id": org_id,
                "id": profile.id,
                "version": profile.version,
                "owner": owner,
                "body": msgspec.json.encode(profile).decode(),
            },
        )

    async def delete(self, org_id: OrgId, profile_id: str, version: str | None) -> int:
        """See the port."""
        table = profiles.c
        wanted = [table.org_id == org_id, table.id == profile_id]
        if version is not None:
            wanted.append(table.version == version)
        done = await self._connection.execute(delete(profiles).where(*wanted))
        return done.rowcount
