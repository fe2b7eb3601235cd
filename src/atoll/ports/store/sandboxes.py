"""Rows of sandboxes, the query for a page of them, and the keys of requests that made them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.sandboxes.consumer import EVERY_CONSUMER, ConsumerFilter
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.sandboxes import State


@dataclass(frozen=True, slots=True)
class SandboxQuery:
    """A page of sandboxes, newest first. `before` is `(created_at, id)` of the last row seen;
    no `states` means all but `destroyed`. Shared ones of the organization are included. `archived`
    selects those that are archived, or are not; None selects both. `consumers` selects theirs."""

    org_id: OrgId
    owner: PrincipalId
    states: tuple[State, ...] = ()
    before: tuple[datetime, SandboxId] | None = None
    limit: int = 50
    archived: bool | None = None
    consumers: ConsumerFilter = EVERY_CONSUMER


@dataclass(frozen=True, slots=True)
class Holding:
    """A sandbox as it counts against its owner's limit and names. `agent_key` is set when its
    scope is `agent`: profile and consumer, as `domain.sandboxes.create.agent_key` spells them."""

    id: SandboxId
    name: str
    state: State
    agent_key: str | None


class SandboxRows(Protocol):
    """Sandboxes. Raises nothing of its own: absent is None."""

    async def insert(self, sandbox: Sandbox) -> None:
        """Add a sandbox. Raises `Conflict` when its owner has a sandbox of that name that is not
        destroyed."""
        ...

    async def update(self, sandbox: Sandbox) -> None:
        """Replace the row of `sandbox.id`. Raises `Conflict` when it has another owner now, who has
        a sandbox of its name."""
        ...

    async def get(self, sandbox_id: SandboxId) -> Sandbox | None:
        """Return a sandbox by id."""
        ...

    async def named(self, org_id: OrgId, owner: PrincipalId, name: str) -> Sandbox | None:
        """Return a sandbox by name, among those not destroyed: the owner's own, else a shared one.
        A sandbox being destroyed is returned only when there is no other."""
        ...

    async def held(self, org_id: OrgId, owner: PrincipalId) -> list[Holding]:
        """Return all of the owner's sandboxes that are neither destroying nor destroyed."""
        ...

    async def page(self, query: SandboxQuery) -> list[Sandbox]:
        """Return one page of sandboxes."""
        ...

    async def ownerless(self, org_id: OrgId, page: PageQuery) -> RowPage[Sandbox]:
        """Return one page of an organization's sandboxes that are not destroyed and whose owner is
        no member, oldest first."""
        ...

    async def unfinished(
        self, org_id: OrgId | None = None, owner: PrincipalId | None = None
    ) -> list[Sandbox]:
        """Return every sandbox that is not destroyed, oldest first: of all organizations, as a
        starting control plane adopts them, or of one, or of one owner in it."""
        ...


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
