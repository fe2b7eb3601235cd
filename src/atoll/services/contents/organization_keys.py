"""The secret of each organization's contents: made at the first use, sealed by the vault."""

import asyncio
import base64
from functools import partial

from atoll.domain.contents.keys import ContentKeys
from atoll.domain.ids import OrgId
from atoll.ports import Store, Transaction, Vault
from atoll.ports.store.contents import ContentKey
from atoll.services.identifiers import Identifiers


class OrganizationKeys:
    """Keys of organizations, opened for each use."""

    def __init__(self, store: Store, vault: Vault, ids: Identifiers) -> None:
        self._store = store
        self._vault = vault
        self._ids = ids

    async def of(self, org_id: OrgId) -> tuple[str, ContentKeys]:
        """Return the folder of an organization's blobs, and its keys. Raises `Failed` (code
        `vault_sealed`) where the vault does not open them."""
        async with self._store.read() as rows:
            key = await rows.content_keys.get(org_id)
        if key is None:
            key = await self._make(org_id)
        opened = await asyncio.to_thread(self._vault.open, key.sealed, content_binding(org_id))
        return key.folder, ContentKeys(base64.b64decode(opened))

    async def _make(self, org_id: OrgId) -> ContentKey:
        """Make a key; of two replicas at once, the first one's counts."""
        secret = base64.b64encode(self._ids.content_secret()).decode()
        seal = partial(self._vault.seal, secret, content_binding(org_id))
        made = ContentKey(org_id, self._ids.new("c"), await asyncio.to_thread(seal))
        async with self._store.begin() as rows:
            there = await rows.content_keys.get(org_id)
            if there is None:
                await rows.content_keys.put(made)
        return there or made


def content_binding(org_id: OrgId) -> tuple[str, str]:
    """Return what the secret of an organization's contents is bound to."""
    return ("content-secret", org_id)


async def rewrap_content_keys(rows: Transaction, vault: Vault) -> None:
    """Put the secrets of contents under the newest master key. Raises `Failed` for one that does
    not open."""
    for key in await rows.content_keys.everything():
        sealed = vault.rewrap(key.sealed, content_binding(key.org_id))
        await rows.content_keys.put(ContentKey(key.org_id, key.folder, sealed))
