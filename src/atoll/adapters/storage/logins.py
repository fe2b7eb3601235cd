"""Table and rows of the login book."""

import msgspec
from sqlalchemy import BigInteger, Column, Table, Text, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.people.login import LoginBook
from atoll.ports.store.logins import LoginRows

login_books = Table(
    "login_books",
    metadata,
    Column("id", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)
"""The book of the installation's person: fingerprints and ends only, never a secret."""

_ONLY = "local"
_decoder = msgspec.json.Decoder(LoginBook)


class SqlLoginRows(LoginRows):
    """The `ports.store.logins.LoginRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def newer(self, version: int) -> tuple[int, LoginBook] | None:
        """See the port."""
        found = await self._connection.execute(
            select(login_books.c.version, login_books.c.body).where(
                login_books.c.id == _ONLY, login_books.c.version > version
            )
        )
        row = found.one_or_none()
        return None if row is None else (row.version, _decoder.decode(row.body))

    async def put(self, book: LoginBook) -> int:
        """See the port."""
        newest = select(func.max(login_books.c.version)).where(login_books.c.id == _ONLY)
        before = (await self._connection.execute(newest)).scalar()
        now = {"version": (before or 0) + 1, "body": msgspec.json.encode(book).decode()}
        if before is None:
            await self._connection.execute(insert(login_books), {"id": _ONLY, **now})
        else:
            change = update(login_books).where(login_books.c.id == _ONLY)
            await self._connection.execute(change.values(**now))
        return now["version"]  # type: ignore[return-value]
