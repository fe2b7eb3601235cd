"""Idempotency keys of requests."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """Record of an idempotency key: `digest` of the request, and the sandbox it made."""

    digest: str
    sandbox_id: SandboxId
    at: datetime


class IdempotencyRows(Protocol):
    """Idempotency keys of requests."""

    async def get(self, org_id: OrgId, owner: PrincipalId, key: str) -> IdempotencyRecord | None:
        """Return the record of a key."""
        ...

    async def put(
        self, org_id: OrgId, owner: PrincipalId, *, key: str, record: IdempotencyRecord
    ) -> None:
        """Store the record of a key, replacing an older one."""
        ...

    async def forget(self, before: datetime) -> None:
        """Drop records older than `before`."""
        ...
