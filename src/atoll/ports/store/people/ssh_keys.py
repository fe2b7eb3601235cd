"""SSH keys of people."""

from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.ssh.key import SshKey, SshKeyId


class SshKeyRows(Protocol):
    """SSH keys. The same one may be several people's; a person has it once in an organization."""

    async def put(self, key: SshKey) -> None:
        """Add a key, or replace the one of its id."""
        ...

    async def change(self, key: SshKey) -> None:
        """Change the key of its id; one that was removed is not added again."""
        ...

    async def get(self, key_id: SshKeyId) -> SshKey | None:
        """Return a key, None when there is none."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[SshKey]:
        """Return a person's keys."""
        ...

    async def with_fingerprint(self, fingerprint: str) -> list[SshKey]:
        """Return everybody's keys with a fingerprint."""
        ...

    async def remove(self, key_id: SshKeyId) -> None:
        """Remove a key; a missing one is not an error."""
        ...
