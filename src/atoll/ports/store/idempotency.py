"""Keys of requests that must not be done twice."""

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
    """Keys of requests that must not be done twice."""

    async def get(self, org_id: OrgId, owner: PrincipalId, key: str) -> IdempotencyRecord | None:
        """Return the record of a key."""
        ...

    async def put(
        self, org_id: OrgId, owner: PrincipalId, *, key: str, record: IdempotencyRecord
    ) -> None:
        """Remember it, in place of an older one."""
        ...

    async def forget(self, before: datetime) -> None:
        """Drop records older than `before`."""
        ...
