"""Rows of workers, of their requests, and of their streams."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, WorkerKey
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.record import (
    RequestRecord,
    WorkerEvent,
    WorkerEventDraft,
    WorkerRecord,
)


class WorkerRows(Protocol):
    """Workers, by key; a person has one of each `worker_id`."""

    async def put(self, record: WorkerRecord) -> None:
        """Add a worker, or replace it."""
        ...

    async def get(self, key: WorkerKey) -> WorkerRecord | None:
        """Return one worker."""
        ...

    async def find(
        self, org_id: OrgId, owner: PrincipalId, worker_id: WorkerId
    ) -> WorkerRecord | None:
        """Return a person's worker of this name."""
        ...

    async def page(
        self, org_id: OrgId, owner: PrincipalId | None, page: PageQuery
    ) -> RowPage[WorkerRecord]:
        """Return one page of a person's workers, or of everybody's in the organization, newest
        first."""
        ...

    async def unsettled(self) -> list[WorkerRecord]:
        """Return everybody's workers that still have a sandbox, or will have one."""
        ...

    async def standing(
        self, org_id: OrgId, limit: int
    ) -> list[tuple[WorkerRecord, Sandbox | None]]:
        """Return an organization's workers that still have a sandbox, or will have one, newest
        first, at most so many; each with the row of its sandbox, which a desktop has not."""
        ...


class WorkerRequestRows(Protocol):
    """The ledger: the requests of workers, each with at most one receipt."""

    async def put(self, record: RequestRecord) -> None:
        """Add a request, or replace it."""
        ...

    async def get(self, key: WorkerKey, request_id: str) -> RequestRecord | None:
        """Return one request."""
        ...

    async def open(self, key: WorkerKey) -> list[RequestRecord]:
        """Return the requests of a worker without a receipt, oldest first."""
        ...


class WorkerEventRows(Protocol):
    """The streams of workers: streams of the log that no reader of the log finds, as they hold what
    agents said."""

    async def append(self, key: WorkerKey, drafts: Sequence[WorkerEventDraft]) -> list[WorkerEvent]:
        """Number and append, in order, for a worker that is there. Raises `ValueError` for an
        unknown kind or payload."""
        ...

    async def page(self, key: WorkerKey, after: int, limit: int) -> list[WorkerEvent]:
        """Return the first events after a number, in order."""
        ...

    async def last(self, key: WorkerKey) -> int:
        """Return the newest number, 0 for an empty stream. Removed events count."""
        ...

    async def first(self, key: WorkerKey) -> int:
        """Return the oldest number that is kept; one more than the newest where none is."""
        ...

    async def remove(self, key: WorkerKey, before: int) -> int:
        """Remove events with smaller numbers, but never the newest. Returns how many."""
        ...

    async def aged(self, before: datetime, limit: int) -> list[tuple[WorkerKey, int]]:
        """Return streams with events that are older and are not their newest: for each, the number
        of the last of those. At most `limit` streams."""
        ...

    async def lost(self, org_id: OrgId, since: datetime, limit: int) -> list[WorkerEvent]:
        """Return, for each `worker.lost` of an organization's workers since then, the
        `worker.started` before it, which tells where that was. Newest losses first, at most
        `limit`; without those whose start was removed."""
        ...


class WorkerArtifactRows(Protocol):
    """The artifacts of workers, each name once."""

    async def put(self, key: WorkerKey, artifact: WorkerArtifact, at: datetime) -> None:
        """Add an artifact, or replace the one of this name."""
        ...

    async def list(self, key: WorkerKey) -> list[WorkerArtifact]:
        """Return the artifacts of a worker, oldest first."""
        ...

    async def remove(self, before: datetime, key: WorkerKey | None = None) -> int:
        """Remove artifacts that are older, of one worker or of all. Returns how many."""
        ...
