"""Checks of the rows of secrets and their sealed values."""

from dataclasses import replace

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SecretId
from atoll.domain.secrets.secret import Place, Secret, Use
from atoll.ports import Sealed, Store
from atoll.testing.samples import NOW, OTHER, OWNER
from atoll.wire.words.secrets import Purpose


def secret(name: str, *, owner: PrincipalId = OWNER, scope: str = "person") -> Secret:
    """Return a custom secret with something in every field."""
    return Secret(
        id=SecretId(f"sec_{owner}_{name}"),
        org_id=PERSONAL_ORG,
        owner=owner,
        name=name,
        scope=scope,
        use=Use(Purpose.CUSTOM, slot="basic", slot_name="me", places=(Place("h", 1),)),
        version=1,
        fingerprint="f" * 32,
        last4="1234",
        size=20,
        created_at=NOW,
        updated_at=NOW,
    )


async def check_secrets_are_kept_by_holder_and_go_whole(store: Store) -> None:
    one = secret("one")
    newer, shared = replace(one, version=2), secret("two", owner=OTHER, scope="organization")
    sealed = Sealed("key", b"\x00wrapped\xff", b"body\x00")
    async with store.begin() as rows:
        await rows.secrets.put(one, sealed)
        await rows.secrets.put(newer, replace(sealed, key_id="key2"))
        await rows.secrets.put(shared, sealed)
        await rows.secrets.put(secret("three", owner=OTHER), sealed)
    with pytest.raises(Conflict):
        async with store.begin() as rows:
            await rows.secrets.put(replace(one, id=SecretId("sec_rival")), sealed)
    async with store.read() as rows:
        assert await rows.secrets.get(PERSONAL_ORG, one.id) == newer
        assert await rows.secrets.get(OrgId("else"), one.id) is None
        assert await rows.secrets.visible(PERSONAL_ORG, OWNER) == [newer, shared]
        assert await rows.secrets.visible(OrgId("else"), OWNER) == []
        kept = await rows.secrets.sealed(PERSONAL_ORG, OWNER)
        assert {k.secret.name: k.sealed.key_id for k in kept} == {
            "one": "key2",
            "two": "key",
        }
        assert kept[0].sealed.body == b"body\x00"
        assert len(await rows.secrets.everything()) == 3
    async with store.begin() as rows:
        await rows.secrets.remove(one.id)
        await rows.secrets.remove(one.id)
        assert len(await rows.secrets.everything()) == 2
