"""Table and rows of SSH keys."""

from sqlalchemy import Column, Index, Table, Text, update

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords
from atoll.domain.ssh.key import SshKey, SshKeyId
from atoll.ports.store.people.ssh_keys import SshKeyRows

ssh_keys = Table(
    "ssh_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("ssh_keys_by_owner", "org_id", "owner", "fingerprint", unique=True),
    Index("ssh_keys_by_fingerprint", "fingerprint"),
)


class SqlSshKeyRows(SqlOwnedRecords[SshKey, SshKeyId], SshKeyRows):
    """The `ports.store.people.ssh_keys.SshKeyRows` on one connection."""

    records = RecordTable(
        ssh_keys,
        SshKey,
        lambda key: {
            "id": key.id,
            "org_id": key.org_id,
            "owner": key.owner,
            "fingerprint": key.fingerprint,
        },
    )

    async def change(self, key: SshKey) -> None:
        """See the port."""
        row = self.records.row(key)
        await self._connection.execute(update(ssh_keys).where(ssh_keys.c.id == key.id).values(row))

    async def with_fingerprint(self, fingerprint: str) -> list[SshKey]:
        """See the port."""
        return await self._all(ssh_keys.c.fingerprint == fingerprint)
