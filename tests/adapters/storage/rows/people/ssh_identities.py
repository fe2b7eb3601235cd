"""Checks of the rows of the installation's own keys for SSH."""

import pytest

from atoll.domain.ssh.identity import SshIdentity, SshIdentityName
from atoll.ports import Store
from atoll.ports.store.store import StoreUnavailable
from atoll.ports.vault import Sealed
from atoll.testing.samples import NOW

FIRST, AGAIN = Sealed("k", b"wrapped", b"sealed"), Sealed("k2", b"w", b"s")


async def check_ssh_identity_is_kept_once_by_its_name(store: Store) -> None:
    """A key, and the same under another master key."""
    host = SshIdentity(SshIdentityName.HOST, "ssh-ed25519 AAAA", NOW)
    authority = SshIdentity(SshIdentityName.USER_AUTHORITY, "ssh-ed25519 BBBB", NOW)
    async with store.begin() as rows:
        assert await rows.ssh_identities.get(SshIdentityName.HOST) is None
        await rows.ssh_identities.add(authority, FIRST)
        await rows.ssh_identities.add(host, FIRST)
        await rows.ssh_identities.change(host, AGAIN)
    async with store.read() as rows:
        assert await rows.ssh_identities.all() == [(host, AGAIN), (authority, FIRST)]
        assert await rows.ssh_identities.get(SshIdentityName.HOST) == (host, AGAIN)
    with pytest.raises(StoreUnavailable):
        async with store.begin() as rows:
            await rows.ssh_identities.add(host, FIRST)
