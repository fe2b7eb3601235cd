"""Table and rows of the installation's own keys for SSH."""

from sqlalchemy import BigInteger, Column, LargeBinary, Table, Text, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.domain.ssh.identity import SshIdentity, SshIdentityName
from atoll.ports.store.people.ssh_identities import SshIdentityRows
from atoll.ports.vault import Sealed

ssh_identities = Table(
    "ssh_identities",
    metadata,
    Column("name", Text, primary_key=True),
    Column("public", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
)


class SqlSshIdentityRows(SshIdentityRows):
    """The `ports.store.people.ssh_identities.SshIdentityRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def all(self) -> list[tuple[SshIdentity, Sealed]]:
        """See the port."""
        cursor = await self._connection.execute(
            select(ssh_identities).order_by(ssh_identities.c.name)
        )
        return [
            (SshIdentity(SshIdentityName(name), public, from_us(made)), Sealed(*sealed))
            for name, public, made, *sealed in cursor
        ]

    async def get(self, name: SshIdentityName) -> tuple[SshIdentity, Sealed] | None:
        """See the port."""
        return next((row for row in await self.all() if row[0].name is name), None)

    async def add(self, identity: SshIdentity, private: Sealed) -> None:
        """See the port."""
        values = {
            "name": identity.name,
            "public": identity.public,
            "created_us": to_us(identity.created_at),
        }
        await self._connection.execute(insert(ssh_identities), values | _columns(private))

    async def change(self, identity: SshIdentity, private: Sealed) -> None:
        """See the port."""
        same = ssh_identities.c.name == identity.name
        await self._connection.execute(update(ssh_identities).where(same).values(_columns(private)))


def _columns(private: Sealed) -> dict[str, object]:
    return {"key_id": private.key_id, "wrapped": private.wrapped, "sealed": private.body}
