"""The Store port: the control plane's durable state, in transactions.

`Store.begin` is the one way to write; writes are serialised, so what a transaction reads it
may act on. Events are appended in the same transaction as the state they report.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.approvals.approval import Approval, ApprovalState
from atoll.domain.event import Event, EventDraft, Gap
from atoll.domain.event_retention import Removal, StreamSpan
from atoll.domain.ids import ApprovalId, OrgId, PrincipalId, SandboxId, SecretId, ShareId
from atoll.domain.people.share import Guest, Share
from atoll.domain.profile.profile import Profile
from atoll.domain.sandbox.sandbox import Sandbox, State
from atoll.domain.secrets.secret import Secret
from atoll.ports.vault import Sealed


@dataclass(frozen=True, slots=True)
class SandboxQuery:
    """A page of sandboxes, newest first. `before` is `(created_at, id)` of the last row seen;
    no `states` means all but `destroyed`. Shared ones of the organization are included."""

    org_id: OrgId
    owner: PrincipalId
    states: tuple[State, ...] = ()
    before: tuple[datetime, SandboxId] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Events of one owner in an organization after a position, oldest first: the first `limit`
    of them, or with `latest` the last."""

    org_id: OrgId
    owner: PrincipalId
    stream: str | None = None
    after: int = 0
    limit: int = 100
    latest: bool = False


@dataclass(frozen=True, slots=True)
class LogLine:
    """Line of output from provisioning."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Holding:
    """A sandbox as it counts against its owner's limit and names. `agent_key` is set when its
    scope is `agent`: profile and consumer, as `domain.sandbox.wish.agent_key` spells them."""

    id: SandboxId
    name: str
    state: State
    agent_key: str | None


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """Record of an idempotency key: `digest` of the request, and the sandbox it made."""

    digest: str
    sandbox_id: SandboxId
    at: datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """A secret and its sealed value."""

    secret: Secret
    sealed: Sealed


@dataclass(frozen=True, slots=True)
class ApprovalQuery:
    """Approvals one person decides, newest first; no `verdicts` means all."""

    org_id: OrgId
    owner: PrincipalId
    verdicts: tuple[ApprovalState, ...] = ()
    limit: int = 100


class SandboxRows(Protocol):
    """Sandboxes. Raises nothing of its own: absent is None."""

    async def insert(self, sandbox: Sandbox) -> None:
        """Add one. Raises `Conflict` when its owner has a living one of that name."""
        ...

    async def update(self, sandbox: Sandbox) -> None:
        """Replace the row of `sandbox.id`."""
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

    async def unfinished(self) -> list[Sandbox]:
        """Return every sandbox of every organization that is not destroyed: what a start adopts."""
        ...


class EventRows(Protocol):
    """The log."""

    async def append(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """Number and append, in order. Raises `ValueError` for an unknown kind or payload."""
        ...

    async def page(self, query: EventQuery) -> list[Event]:
        """Return one page of events."""
        ...

    async def last_position(self) -> int:
        """Return the newest position, 0 for an empty log."""
        ...

    async def gap(self, query: EventQuery) -> Gap | None:
        """Return the removed part of the events that the query asks for, whatever its `limit`; None
        when all are there. Asked after `page`, it covers removals in between."""
        ...

    async def next_stream(self, after: str) -> StreamSpan | None:
        """Return the first stream of any owner whose name is greater than `after`; None after the
        last."""
        ...

    async def remove(self, removal: Removal) -> int:
        """Remove events; how many went. Fewer than its `limit` means that no more are due."""
        ...


class LogRows(Protocol):
    """Provisioning output, and the position up to which each runtime's journal was collected."""

    async def append(self, sandbox: Sandbox, lines: Sequence[LogLine]) -> None:
        """Add lines, in order."""
        ...

    async def lines(self, sandbox_id: SandboxId) -> list[LogLine]:
        """Return the last 1000 lines, oldest first."""
        ...

    async def collected(self, sandbox_id: SandboxId, generation: int) -> int:
        """Return the last journal entry taken in, 0 for none."""
        ...

    async def set_collected(self, sandbox: Sandbox, n: int) -> None:
        """Record that entries of this generation up to `n` are in the log (same transaction)."""
        ...


class ProfileRows(Protocol):
    """Profiles of people; bundled ones are not here."""

    async def all(self, org_id: OrgId) -> list[Profile]:
        """Return every version of every profile of the organization."""
        ...

    async def save(self, org_id: OrgId, owner: PrincipalId, profile: Profile) -> None:
        """Add or replace one version."""
        ...

    async def delete(self, org_id: OrgId, profile_id: str, version: str | None) -> int:
        """Remove one version, or all; how many went."""
        ...


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


class SecretRows(Protocol):
    """Secrets and their sealed values; values in the clear never come here."""

    async def put(self, secret: Secret, sealed: Sealed) -> None:
        """Add or replace the secret of this id. Raises `Conflict` when its holder has another
        one of that name and scope."""
        ...

    async def get(self, org_id: OrgId, secret_id: SecretId) -> Secret | None:
        """Return a secret by id."""
        ...

    async def visible(self, org_id: OrgId, owner: PrincipalId) -> list[Secret]:
        """Return the owner's and the organization's, by name."""
        ...

    async def sealed(self, org_id: OrgId, owner: PrincipalId) -> list[Kept]:
        """Return the same ones with their values, by id."""
        ...

    async def everything(self) -> list[Kept]:
        """Return the secrets of every organization: what a new master key must wrap."""
        ...

    async def remove(self, secret_id: SecretId) -> None:
        """Remove it, value and all; nothing when it is not there."""
        ...


class ApprovalRows(Protocol):
    """Questions and their answers."""

    async def put(self, approval: Approval) -> None:
        """Add or replace."""
        ...

    async def get(self, org_id: OrgId, approval_id: ApprovalId) -> Approval | None:
        """Return an approval by id."""
        ...

    async def page(self, query: ApprovalQuery) -> list[Approval]:
        """Return the newest ones."""
        ...

    async def open(
        self, org_id: OrgId, *, sandbox_id: SandboxId, owner: PrincipalId
    ) -> list[Approval]:
        """Return the pending, granted and denied ones that this sandbox asked or this owner
        decides."""
        ...

    async def about(self, org_id: OrgId, secret_id: str) -> list[Approval]:
        """Return the pending, granted and denied ones about one secret, whoever asked."""
        ...


class ShareRows(Protocol):
    """Share links and their guests; secrets of either never come here, only fingerprints."""

    async def add(self, share: Share) -> None:
        """Add a link."""
        ...

    async def of(self, sandbox_id: SandboxId) -> list[tuple[Share, int]]:
        """Return the links of a sandbox, oldest first, each with how many guests it has."""
        ...

    async def marked(self, mark: str) -> Share | None:
        """Return the link whose secret has this fingerprint."""
        ...

    async def remove(self, share_id: ShareId) -> None:
        """Remove a link and its guests; nothing when it is not there."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove links that ended at `before` or earlier, with their guests."""
        ...

    async def seat(self, guest: Guest) -> None:
        """Add a guest."""
        ...

    async def unseat(self, mark: str) -> None:
        """Remove the guest whose session has this fingerprint."""
        ...

    async def guest(self, mark: str) -> tuple[Guest, Share] | None:
        """Return the guest whose session has this fingerprint, and the link it came by."""
        ...


class Transaction(Protocol):
    """A set of rows seen and changed together."""

    @property
    def sandboxes(self) -> SandboxRows:
        """Sandboxes."""
        ...

    @property
    def events(self) -> EventRows:
        """The log."""
        ...

    @property
    def logs(self) -> LogRows:
        """Provisioning logs and journal marks."""
        ...

    @property
    def profiles(self) -> ProfileRows:
        """People's profiles."""
        ...

    @property
    def idempotency(self) -> IdempotencyRows:
        """Idempotency keys."""
        ...

    @property
    def secrets(self) -> SecretRows:
        """Secrets and their sealed values."""
        ...

    @property
    def approvals(self) -> ApprovalRows:
        """Questions and answers."""
        ...

    @property
    def shares(self) -> ShareRows:
        """Share links and guests."""
        ...


class Store(Protocol):
    """Raises `Unavailable` when the database cannot be reached or stays locked."""

    def begin(self) -> AbstractAsyncContextManager[Transaction]:
        """Return a writing transaction: commits on a clean exit, else rolls back. One at a time."""
        ...

    def read(self) -> AbstractAsyncContextManager[Transaction]:
        """Reading only; sees what is committed; never waits for a writer on SQLite."""
        ...

    async def close(self) -> None:
        """Give the connections back."""
        ...
