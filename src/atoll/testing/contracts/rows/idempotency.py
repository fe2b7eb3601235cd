"""Checks of the rows of idempotency keys."""

from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, SandboxId
from atoll.ports import IdempotencyRecord, Store
from atoll.testing.contracts.event_log import NOW, OTHER, OWNER


async def check_idempotency_keys_belong_to_their_owner_and_are_forgotten(store: Store) -> None:
    record = IdempotencyRecord("digest", SandboxId("sb_a"), NOW)
    async with store.begin() as rows:
        await rows.idempotency.put(PERSONAL_ORG, OWNER, key="k", record=record)
        await rows.idempotency.put(PERSONAL_ORG, OWNER, key="k", record=record)
        assert await rows.idempotency.get(PERSONAL_ORG, OWNER, "k") == record
        assert await rows.idempotency.get(PERSONAL_ORG, OTHER, "k") is None
        await rows.idempotency.forget(NOW + timedelta(seconds=1))
        assert await rows.idempotency.get(PERSONAL_ORG, OWNER, "k") is None
