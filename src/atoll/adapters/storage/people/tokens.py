"""Tables and rows of personal access tokens, and of the keys that sign short-lived ones."""

from collections.abc import Sequence
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
    delete,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.paging import PageQuery, RowPage, cut_page
from atoll.domain.people.token import Token, TokenId
from atoll.ports.store.people.tokens import SigningKey, SigningKeyRows, TokenRows
from atoll.ports.vault import Sealed

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("mark", Text, nullable=False, unique=True),
    Column("parent", Text, nullable=True),
    Column("expires_us", BigInteger, nullable=False),
    Column("used_us", BigInteger, nullable=True),
    Column("body", Text, nullable=False),
    Index("tokens_by_owner", "org_id", "owner"),
    Index("tokens_by_parent", "parent"),
    Index("tokens_by_end", "expires_us"),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("kid", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("retired_us", BigInteger, nullable=True),
    Column("public", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
)

_OWNER = "atoll"
_decoder = msgspec.json.Decoder(Token)
_KEPT = (tokens.c.body, tokens.c.used_us)


class SqlTokenRows(TokenRows):
    """The `ports.store.tokens.TokenRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, token: Token) -> None:
        """See the port."""
        await self._connection.execute(
            insert(tokens),
            {
                "id": token.id,
                "org_id": token.org_id,
                "owner": token.owner,
                "mark": token.mark,
                "parent": token.parent,
                "expires_us": to_us(token.expires_at),
                "used_us": None if token.used_at is None else to_us(token.used_at),
                "body": msgspec.json.encode(replace(token, used_at=None)).decode(),
            },
        )

    async def get(self, token_id: TokenId) -> Token | None:
        """See the port."""
        cursor = await self._connection.execute(select(*_KEPT).where(tokens.c.id == token_id))
        return _token(cursor.first())

    async def marked(self, mark: str) -> Token | None:
        """See the port."""
        cursor = await self._connection.execute(select(*_KEPT).where(tokens.c.mark == mark))
        return _token(cursor.first())

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[Token]:
        """See the port."""
        cursor = await self._connection.execute(
            select(*_KEPT).where(tokens.c.org_id == org_id, tokens.c.owner == owner)
        )
        listed = [token for row in cursor.all() if (token := _token(row)) is not None]
        return sorted(listed, key=lambda token: (token.created_at, token.id))

    async def living(self, org_id: OrgId, now: datetime, page: PageQuery) -> RowPage[Token]:
        """See the port."""
        table, place = tokens.c, (tokens.c.expires_us, tokens.c.id)
        rows = select(*_KEPT).where(table.org_id == org_id, table.expires_us > to_us(now))
        if page.after is not None:
            rows = rows.where(tuple_(*place) > tuple_(to_us(page.after[0]), page.after[1]))
        cursor = await self._connection.execute(rows.order_by(*place).limit(page.limit + 1))
        listed = [token for row in cursor.all() if (token := _token(row)) is not None]
        return cut_page(listed, page.limit, lambda token: (token.expires_at, token.id))

    async def used(self, token_id: TokenId, at: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            update(tokens).where(tokens.c.id == token_id).values(used_us=to_us(at))
        )

    async def remove(self, token_id: TokenId) -> None:
        """See the port."""
        ids = [token_id]
        while ids:
            children = select(tokens.c.id).where(tokens.c.parent.in_(ids))
            child_ids = (await self._connection.execute(children)).scalars().all()
            await self._connection.execute(delete(tokens).where(tokens.c.id.in_(ids)))
            ids = [TokenId(token_id) for token_id in child_ids]

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._connection.execute(delete(tokens).where(tokens.c.expires_us <= to_us(before)))


class SqlSigningKeyRows(SigningKeyRows):
    """The `ports.store.signing_keys.SigningKeyRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def all(self) -> list[SigningKey]:
        """See the port."""
        columns = signing_keys.c
        cursor = await self._connection.execute(
            select(columns.kid, columns.public, columns.created_us, columns.retired_us).order_by(
                columns.created_us, columns.kid
            )
        )
        return [
            SigningKey(kid, public, from_us(made), None if gone is None else from_us(gone))
            for kid, public, made, gone in cursor
        ]

    async def private(self, kid: str) -> Sealed | None:
        """See the port."""
        columns = signing_keys.c
        cursor = await self._connection.execute(
            select(columns.key_id, columns.wrapped, columns.sealed).where(columns.kid == kid)
        )
        row = cursor.first()
        return None if row is None else Sealed(*row)

    async def add(self, key: SigningKey, private: Sealed) -> None:
        """See the port."""
        await self._connection.execute(
            insert(signing_keys),
            {
                "kid": key.kid,
                "org_id": PERSONAL_ORG,
                "owner": _OWNER,
                "created_us": to_us(key.created_at),
                "retired_us": None if key.retired_at is None else to_us(key.retired_at),
                "public": key.public,
                "key_id": private.key_id,
                "wrapped": private.wrapped,
                "sealed": private.body,
            },
        )

    async def retire(self, at: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            update(signing_keys)
            .where(signing_keys.c.retired_us.is_(None))
            .values(retired_us=to_us(at))
        )

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            delete(signing_keys).where(signing_keys.c.retired_us <= to_us(before))
        )


def _token(row: Sequence[Any] | None) -> Token | None:
    if row is None:
        return None
    body, used = row
    return replace(_decoder.decode(body), used_at=None if used is None else from_us(used))
