"""The keys of this installation's own for SSH."""

from typing import Protocol

from atoll.domain.ssh.identity import SshIdentity, SshIdentityName
from atoll.ports.vault import Sealed


class SshIdentityRows(Protocol):
    """The keys of the installation, one of each name."""

    async def all(self) -> list[tuple[SshIdentity, Sealed]]:
        """Return the keys with their private halves, sealed; by name."""
        ...

    async def get(self, name: SshIdentityName) -> tuple[SshIdentity, Sealed] | None:
        """Return a key with its private half, sealed; None before the first use."""
        ...

    async def add(self, identity: SshIdentity, private: Sealed) -> None:
        """Add a key. Raises `StoreUnavailable` where one of its name was added meanwhile."""
        ...

    async def change(self, identity: SshIdentity, private: Sealed) -> None:
        """Seal the private half of a key anew."""
        ...
