"""Checks of the rows of SSH keys."""

from dataclasses import replace

import pytest

from atoll.domain.ids import PERSONAL_ORG, PrincipalId
from atoll.domain.ssh.key import PublicKey, SshKey, SshKeyId
from atoll.ports import Store
from atoll.ports.store.store import StoreUnavailable
from atoll.testing.samples import NOW, OWNER

PUBLIC = PublicKey("ssh-ed25519", "AAAA")


def key(name: str, fingerprint: str = "SHA256:a", owner: PrincipalId = OWNER) -> SshKey:
    """Return a key of somebody."""
    return SshKey(SshKeyId(name), PERSONAL_ORG, owner, name, PUBLIC, fingerprint, NOW)


async def check_ssh_key_is_found_by_its_fingerprint_and_its_owner(store: Store) -> None:
    """The same key of two people, and its end for one of them."""
    other = PrincipalId("other")
    async with store.begin() as rows:
        await rows.ssh_keys.put(key("one"))
        await rows.ssh_keys.put(key("two", owner=other))
        await rows.ssh_keys.put(key("three", "SHA256:b"))
    async with store.read() as rows:
        assert {each.id for each in await rows.ssh_keys.with_fingerprint("SHA256:a")} == {
            "one",
            "two",
        }
        assert await rows.ssh_keys.with_fingerprint("SHA256:c") == []
        assert await rows.ssh_keys.of(PERSONAL_ORG, other) == [key("two", owner=other)]
    async with store.begin() as rows:
        await rows.ssh_keys.remove(SshKeyId("one"))
        await rows.ssh_keys.remove(SshKeyId("one"))
        assert await rows.ssh_keys.get(SshKeyId("one")) is None
        found = await rows.ssh_keys.with_fingerprint("SHA256:a")
        assert found == [key("two", owner=other)]


async def check_change_of_a_removed_ssh_key_brings_nothing_back(store: Store) -> None:
    """A use that is noted late."""
    used = replace(key("one"), used_at=NOW)
    async with store.begin() as rows:
        await rows.ssh_keys.put(key("one"))
        await rows.ssh_keys.change(used)
        assert await rows.ssh_keys.get(SshKeyId("one")) == used
        await rows.ssh_keys.remove(SshKeyId("one"))
        await rows.ssh_keys.change(used)
        assert await rows.ssh_keys.get(SshKeyId("one")) is None


async def check_person_has_a_ssh_key_once(store: Store) -> None:
    """Two requests at once are no two keys."""
    async with store.begin() as rows:
        await rows.ssh_keys.put(key("one"))
    with pytest.raises(StoreUnavailable):
        async with store.begin() as rows:
            await rows.ssh_keys.put(key("two"))
