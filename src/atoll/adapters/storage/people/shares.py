"""Tables and rows of share links and their guests."""

from datetime import datetime

import msgspec
from sqlalchemy import BigInteger, Column, Index, Table, Text, delete, insert, select

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.ids import DashboardId, OrgId, PrincipalId, SandboxId, ShareId
from atoll.domain.people.share import Guest, Share
from atoll.ports.store.people.shares import ShareRows

shares = Table(
    "shares",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    # The id of the sandbox or of the dashboard that the link opens.
    Column("sandbox_id", Text, nullable=False),
    Column("mark", Text, nullable=False, unique=True),
    Column("expires_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("shares_by_sandbox", "sandbox_id"),
    Index("shares_by_end", "expires_us"),
)

guests = Table(
    "guests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("share_id", Text, nullable=False),
    Column("mark", Text, nullable=False, unique=True),
    Column("body", Text, nullable=False),
    Index("guests_by_share", "share_id"),
)

_guests = msgspec.json.Decoder(Guest)


class SqlShareRows(SqlRecords[Share, ShareId], ShareRows):
    """The `ports.store.shares.ShareRows` on one connection."""

    records = RecordTable(
        shares,
        Share,
        lambda share: {
            "id": share.id,
            "org_id": share.org_id,
            "owner": share.owner,
            "sandbox_id": share.opens,
            "mark": share.mark,
            "expires_us": to_us(share.expires_at),
        },
    )

    async def of(self, opens: SandboxId | DashboardId) -> list[tuple[Share, tuple[Guest, ...]]]:
        """See the port."""
        cursor = await self._connection.execute(
            select(shares.c.body, guests.c.body)
            .outerjoin(guests, guests.c.share_id == shares.c.id)
            .where(shares.c.sandbox_id == opens)
            .order_by(shares.c.id, guests.c.id)
        )
        came: dict[str, list[Guest]] = {}
        for share, guest in cursor.all():
            came.setdefault(share, []).extend([] if guest is None else [_guests.decode(guest)])
        listed = [(self.records.decode(share), _by_age(come)) for share, come in came.items()]
        return sorted(listed, key=lambda row: row[0].created_at)

    async def held(self, org_id: OrgId, owner: PrincipalId) -> list[Share]:
        """See the port."""
        listed = await self._all(shares.c.org_id == org_id, shares.c.owner == owner)
        return sorted(listed, key=lambda share: share.created_at)

    async def marked(self, mark: str) -> Share | None:
        """See the port."""
        return await self._one(shares.c.mark == mark)

    async def remove(self, share_id: ShareId) -> None:
        """See the port."""
        await self._connection.execute(delete(guests).where(guests.c.share_id == share_id))
        await super().remove(share_id)

    async def forget(self, before: datetime) -> None:
        """See the port."""
        over = shares.c.expires_us <= to_us(before)
        gone = select(shares.c.id).where(over)
        await self._connection.execute(delete(guests).where(guests.c.share_id.in_(gone)))
        await self._delete(over)

    async def add_guest(self, guest: Guest) -> None:
        """See the port."""
        await self._connection.execute(
            insert(guests),
            {
                "id": guest.id,
                "org_id": guest.org_id,
                "owner": guest.owner,
                "share_id": guest.share_id,
                "mark": guest.mark,
                "body": msgspec.json.encode(guest).decode(),
            },
        )

    async def remove_guest(self, mark: str) -> None:
        """See the port."""
        await self._connection.execute(delete(guests).where(guests.c.mark == mark))

    async def guest(self, mark: str) -> tuple[Guest, Share] | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(guests.c.body, shares.c.body)
            .join(shares, shares.c.id == guests.c.share_id)
            .where(guests.c.mark == mark)
        )
        row = cursor.first()
        return None if row is None else (_guests.decode(row[0]), self.records.decode(row[1]))


def _by_age(come: list[Guest]) -> tuple[Guest, ...]:
    return tuple(sorted(come, key=lambda guest: guest.created_at))
