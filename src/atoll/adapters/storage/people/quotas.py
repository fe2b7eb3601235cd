"""Tables and rows of quotas, and of the sessions that they count."""

from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.quota import Quota
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.store.people.quotas import COMMAND, QuotaRows, SessionRows

quotas = Table(
    "quotas",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("org_id", "owner"),
)
"""`owner` is the member, empty in the row of the whole organization."""

sessions = Table(
    "sessions",
    metadata,
    Column("sandbox_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("sandbox_id", "session_id"),
    Index("sessions_by_owner", "org_id", "owner"),
)

IS_SESSION: Final = ~sessions.c.session_id.startswith(COMMAND, autoescape=True)
"""Rows that quotas and figures count: a running command is none."""

_decoder = msgspec.json.Decoder(Quota)


class SqlQuotaRows(QuotaRows):
    """The `ports.store.quotas.QuotaRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, org_id: OrgId, owner: PrincipalId | None) -> Quota | None:
        """See the port."""
        table = quotas.c
        cursor = await self._connection.execute(
            select(table.body).where(table.org_id == org_id, table.owner == (owner or ""))
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def put(self, org_id: OrgId, owner: PrincipalId | None, quota: Quota) -> None:
        """See the port."""
        table = quotas.c
        await self._connection.execute(
            delete(quotas).where(table.org_id == org_id, table.owner == (owner or ""))
        )
        if not quota.empty:
            body = msgspec.json.encode(quota).decode()
            row = {"org_id": org_id, "owner": owner or "", "body": body}
            await self._connection.execute(insert(quotas), row)

    async def members(self, org_id: OrgId) -> dict[PrincipalId, Quota]:
        """See the port."""
        table = quotas.c
        cursor = await self._connection.execute(
            select(table.owner, table.body)
            .where(table.org_id == org_id, table.owner != "")
            .order_by(table.owner)
        )
        return {PrincipalId(owner): _decoder.decode(body) for owner, body in cursor}


class SqlSessionRows(SessionRows):
    """The `ports.store.quotas.SessionRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, sandbox: Sandbox, session_id: str, at: datetime) -> None:
        """See the port."""
        there = await self._connection.execute(
            select(sessions.c.session_id).where(*_session_conditions(sandbox.id, session_id))
        )
        if there.scalar_one_or_none() is None:
            row = {
                "sandbox_id": sandbox.id,
                "session_id": session_id,
                "org_id": sandbox.org_id,
                "owner": sandbox.owner,
                "at_us": to_us(at),
            }
            await self._connection.execute(insert(sessions), row)

    async def remove(self, sandbox_id: SandboxId, session_id: str) -> None:
        """See the port."""
        await self._connection.execute(
            delete(sessions).where(*_session_conditions(sandbox_id, session_id))
        )

    async def forget(self, prefix: str, before: datetime) -> None:
        """See the port."""
        table = sessions.c
        await self._connection.execute(
            delete(sessions).where(
                table.session_id.startswith(prefix, autoescape=True), table.at_us < to_us(before)
            )
        )

    async def clear(self, sandbox_id: SandboxId) -> None:
        """See the port."""
        await self._connection.execute(delete(sessions).where(sessions.c.sandbox_id == sandbox_id))

    async def of(self, sandbox_id: SandboxId) -> frozenset[str]:
        """See the port."""
        table = sessions.c
        cursor = await self._connection.execute(
            select(table.session_id).where(table.sandbox_id == sandbox_id)
        )
        return frozenset(cursor.scalars())

    async def count(self, org_id: OrgId, owner: PrincipalId | None) -> int:
        """See the port."""
        wanted = [sessions.c.org_id == org_id, IS_SESSION]
        if owner is not None:
            wanted.append(sessions.c.owner == owner)
        cursor = await self._connection.execute(
            select(func.count()).select_from(sessions).where(*wanted)
        )
        return cursor.scalar_one()


def _session_conditions(sandbox_id: SandboxId, session_id: str) -> tuple[ColumnElement[bool], ...]:
    return sessions.c.sandbox_id == sandbox_id, sessions.c.session_id == session_id
