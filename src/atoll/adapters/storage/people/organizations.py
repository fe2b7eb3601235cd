"""Tables and rows of organizations, their members, invitations and bounds of networks."""

from datetime import datetime

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    case,
    delete,
    insert,
    or_,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.errors import Conflict
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.network.bounds import NetworkBounds
from atoll.domain.people.organization import Invitation, InvitationId, Member, Organization
from atoll.ports.store.people.organizations import (
    InvitationRows,
    MemberRows,
    NetworkBoundRows,
    OrganizationRows,
)

organizations = Table(
    "organizations",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("body", Text, nullable=False),
)
"""Rows without an owner: an organization is nobody's."""

members = Table(
    "members",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("since_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("org_id", "owner"),
    Index("members_by_person", "owner"),
)
"""`owner` is the member."""

invitations = Table(
    "invitations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("mark", Text, nullable=False, unique=True),
    Column("expires_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("invitations_by_org", "org_id"),
)
"""`owner` is who invited."""

network_bounds = Table(
    "network_bounds",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("body", Text, nullable=False),
)
"""Rows without an owner, as those of organizations."""

_organizations = msgspec.json.Decoder(Organization)
_bounds = msgspec.json.Decoder(NetworkBounds)


class SqlOrganizationRows(OrganizationRows):
    """The `ports.store.organizations.OrganizationRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, organization: Organization) -> None:
        """See the port."""
        table = organizations.c
        await self._connection.execute(delete(organizations).where(table.org_id == organization.id))
        row = {
            "org_id": organization.id,
            "slug": organization.slug,
            "body": msgspec.json.encode(organization).decode(),
        }
        try:
            await self._connection.execute(insert(organizations), row)
        except IntegrityError as err:
            raise Conflict(
                f"There is an organization {organization.slug!r} already: choose another slug.",
                code="name_taken",
                field="slug",
            ) from err

    async def get(self, ref: str) -> Organization | None:
        """See the port."""
        table = organizations.c
        cursor = await self._connection.execute(
            select(table.body)
            .where(or_(table.org_id == ref, table.slug == ref))
            .order_by(case((table.org_id == ref, 0), else_=1))
            .limit(1)
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _organizations.decode(body)

    async def all(self) -> list[Organization]:
        """See the port."""
        table = organizations.c
        cursor = await self._connection.execute(select(table.body).order_by(table.slug))
        return [_organizations.decode(body) for body in cursor.scalars()]


class SqlMemberRows(SqlRecords[Member, OrgId, PrincipalId], MemberRows):
    """The `ports.store.organizations.MemberRows` on one connection."""

    records = RecordTable(
        members,
        Member,
        lambda member: {
            "org_id": member.org_id,
            "owner": member.id,
            "since_us": to_us(member.since),
        },
        order=(members.c.since_us, members.c.owner),
    )

    async def of(self, org_id: OrgId) -> list[Member]:
        """See the port."""
        return await self._all(members.c.org_id == org_id)

    async def memberships(self, member_id: PrincipalId) -> list[Member]:
        """See the port."""
        return await self._all(members.c.owner == member_id, order=(members.c.org_id,))


class SqlInvitationRows(SqlRecords[Invitation, InvitationId], InvitationRows):
    """The `ports.store.organizations.InvitationRows` on one connection."""

    records = RecordTable(
        invitations,
        Invitation,
        lambda invitation: {
            "id": invitation.id,
            "org_id": invitation.org_id,
            "owner": invitation.invited_by,
            "mark": invitation.mark,
            "expires_us": to_us(invitation.expires_at),
        },
        order=(invitations.c.id,),
    )

    async def of(self, org_id: OrgId) -> list[Invitation]:
        """See the port."""
        listed = await self._all(invitations.c.org_id == org_id)
        return sorted(listed, key=lambda invitation: invitation.created_at)

    async def marked(self, mark: str) -> Invitation | None:
        """See the port."""
        return await self._one(invitations.c.mark == mark)

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._delete(invitations.c.expires_us <= to_us(before))


class SqlNetworkBoundRows(NetworkBoundRows):
    """The `ports.store.organizations.NetworkBoundRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, org_id: OrgId) -> NetworkBounds | None:
        """See the port."""
        table = network_bounds.c
        cursor = await self._connection.execute(select(table.body).where(table.org_id == org_id))
        body = cursor.scalar_one_or_none()
        return None if body is None else _bounds.decode(body)

    async def put(self, org_id: OrgId, bounds: NetworkBounds | None) -> None:
        """See the port."""
        table = network_bounds.c
        await self._connection.execute(delete(network_bounds).where(table.org_id == org_id))
        if bounds is not None:
            row = {"org_id": org_id, "body": msgspec.json.encode(bounds).decode()}
            await self._connection.execute(insert(network_bounds), row)
