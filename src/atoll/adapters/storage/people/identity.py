"""Tables and rows of people who log in at a provider, of their sessions and tickets."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.cli_login import CliLogin
from atoll.domain.people.person import LoginTicket, Person, PersonSession, SessionId
from atoll.ports.store.people.identity import (
    CliLoginRows,
    LoginTicketRows,
    PersonRows,
    PersonSessionRows,
)
from atoll.ports.vault import Sealed

people = Table(
    "people",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("issuer", "subject"),
)
"""`owner` is the person. They belong to the installation: a membership is another row."""

person_sessions = Table(
    "person_sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("mark", Text, nullable=False, unique=True),
    Column("created_us", BigInteger, nullable=False),
    Column("seen_us", BigInteger, nullable=False),
    Column("checked_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("key_id", Text, nullable=True),
    Column("wrapped", LargeBinary, nullable=True),
    Column("sealed", LargeBinary, nullable=True),
    Index("person_sessions_by_owner", "owner"),
    Index("person_sessions_by_check", "checked_us"),
    Index("person_sessions_by_end", "expires_us"),
)
"""`org_id` is the chosen organization, empty for none."""

login_tickets = Table(
    "login_tickets",
    metadata,
    Column("state_mark", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("mark", Text, nullable=True, unique=True),
    Column("expires_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("key_id", Text, nullable=True),
    Column("wrapped", LargeBinary, nullable=True),
    Column("sealed", LargeBinary, nullable=True),
    Index("login_tickets_by_end", "expires_us"),
)
"""`mark` is empty once a ticket is used: the row stays, so that its login cannot be repeated."""

cli_logins = Table(
    "cli_logins",
    metadata,
    Column("mark", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("code", Text, nullable=False, unique=True),
    Column("expires_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("cli_logins_by_end", "expires_us"),
)
"""`owner` is who confirmed it, empty before."""

_sessions = msgspec.json.Decoder(PersonSession)
_tickets = msgspec.json.Decoder(LoginTicket)


class SqlPersonRows(SqlRecords[Person, PrincipalId], PersonRows):
    """The `ports.store.identity.people.PersonRows` on one connection."""

    records = RecordTable(
        people,
        Person,
        lambda person: {
            "owner": person.id,
            "org_id": PERSONAL_ORG,
            "issuer": person.issuer,
            "subject": person.subject,
        },
    )

    async def known(self, issuer: str, subject: str) -> Person | None:
        """See the port."""
        return await self._one(people.c.issuer == issuer, people.c.subject == subject)


class SqlPersonSessionRows(PersonSessionRows):
    """The `ports.store.identity.people.PersonSessionRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, session: PersonSession, grant: Sealed | None) -> None:
        """See the port."""
        await self._connection.execute(
            insert(person_sessions),
            {
                "id": session.id,
                "org_id": session.org_id,
                "owner": session.person,
                "mark": session.mark,
                "created_us": to_us(session.created_at),
                "seen_us": to_us(session.seen_at),
                "checked_us": to_us(session.checked_at),
                "expires_us": to_us(session.expires_at),
                "body": msgspec.json.encode(session).decode(),
                **_columns(grant),
            },
        )

    async def marked(self, mark: str) -> PersonSession | None:
        """See the port."""
        sessions = await self._select(person_sessions.c.mark == mark)
        return sessions[0] if sessions else None

    async def of(self, person_id: PrincipalId) -> list[PersonSession]:
        """See the port."""
        return await self._select(person_sessions.c.owner == person_id)

    async def seen(self, session_id: SessionId, at: datetime) -> None:
        """See the port."""
        await self._change(session_id, seen_us=to_us(at))

    async def choose(self, session_id: SessionId, org_id: OrgId) -> None:
        """See the port."""
        await self._change(session_id, org_id=org_id)

    async def grant(self, session_id: SessionId) -> Sealed | None:
        """See the port."""
        table = person_sessions.c
        cursor = await self._connection.execute(
            select(table.key_id, table.wrapped, table.sealed).where(table.id == session_id)
        )
        return _to_sealed(cursor.first())

    async def due(
        self, before: datetime, limit: int, *, without: Collection[str] = ()
    ) -> list[PersonSession]:
        """See the port."""
        table = person_sessions.c
        old = table.checked_us <= to_us(before)
        sessions = await self._select(old, table.key_id.is_not(None), order=table.checked_us)
        return [session for session in sessions if session.realm not in without][:limit]

    async def claim(self, session: PersonSession, at: datetime) -> bool:
        """See the port."""
        table = person_sessions.c
        changed = await self._connection.execute(
            update(person_sessions)
            .where(table.id == session.id, table.checked_us == to_us(session.checked_at))
            .values(checked_us=to_us(at))
        )
        return changed.rowcount == 1

    async def checked(self, session_id: SessionId, at: datetime, grant: Sealed | None) -> None:
        """See the port."""
        columns = {} if grant is None else _columns(grant)
        await self._change(session_id, checked_us=to_us(at), **columns)

    async def remove(self, session_id: SessionId) -> None:
        """See the port."""
        await self._connection.execute(
            delete(person_sessions).where(person_sessions.c.id == session_id)
        )

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            delete(person_sessions).where(person_sessions.c.expires_us <= to_us(before))
        )

    async def _change(self, session_id: SessionId, **values: object) -> None:
        await self._connection.execute(
            update(person_sessions).where(person_sessions.c.id == session_id).values(**values)
        )

    async def _select(self, *where: Any, order: Any = None) -> list[PersonSession]:
        table = person_sessions.c
        cursor = await self._connection.execute(
            select(table.body, table.org_id, table.seen_us, table.checked_us)
            .where(*where)
            .order_by(table.created_us if order is None else order, table.id)
        )
        return [
            replace(
                _sessions.decode(body),
                org_id=OrgId(org_id),
                seen_at=from_us(seen),
                checked_at=from_us(checked),
            )
            for body, org_id, seen, checked in cursor
        ]


class SqlLoginTicketRows(LoginTicketRows):
    """The `ports.store.identity.people.LoginTicketRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, ticket: LoginTicket, grant: Sealed | None) -> bool:
        """See the port."""
        table = login_tickets.c
        before = await self._connection.execute(
            select(table.state_mark).where(table.state_mark == ticket.state_mark)
        )
        if before.first() is not None:
            return False
        await self._connection.execute(
            insert(login_tickets),
            {
                "state_mark": ticket.state_mark,
                "org_id": PERSONAL_ORG,
                "owner": ticket.person,
                "mark": ticket.mark,
                "expires_us": to_us(ticket.expires_at),
                "body": msgspec.json.encode(ticket).decode(),
                **_columns(grant),
            },
        )
        return True

    async def redeem(self, mark: str) -> tuple[LoginTicket, Sealed | None] | None:
        """See the port."""
        table = login_tickets.c
        cursor = await self._connection.execute(
            select(table.body, table.key_id, table.wrapped, table.sealed).where(table.mark == mark)
        )
        row = cursor.first()
        if row is None:
            return None
        used = update(login_tickets).where(table.mark == mark)
        await self._connection.execute(used.values(mark=None, **_columns(None)))
        return _tickets.decode(row[0]), _to_sealed(row[1:])

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            delete(login_tickets).where(login_tickets.c.expires_us <= to_us(before))
        )


class SqlCliLoginRows(SqlRecords[CliLogin, str], CliLoginRows):
    """The `ports.store.identity.people.CliLoginRows` on one connection."""

    records = RecordTable(
        cli_logins,
        CliLogin,
        lambda login: {
            "mark": login.mark,
            "org_id": login.org_id,
            "owner": login.person,
            "code": login.code,
            "expires_us": to_us(login.expires_at),
        },
        order=(cli_logins.c.expires_us, cli_logins.c.mark),
    )

    async def coded(self, code: str) -> CliLogin | None:
        """See the port."""
        return await self._one(cli_logins.c.code == code)

    async def all(self) -> list[CliLogin]:
        """See the port."""
        return await self._all()

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._delete(cli_logins.c.expires_us <= to_us(before))


def _columns(grant: Sealed | None) -> dict[str, object]:
    if grant is None:
        return {"key_id": None, "wrapped": None, "sealed": None}
    return {"key_id": grant.key_id, "wrapped": grant.wrapped, "sealed": grant.body}


def _to_sealed(row: Sequence[Any] | None) -> Sealed | None:
    """Return the sealed value in a row; None when the row has none."""
    return None if row is None or row[0] is None else Sealed(*row)
