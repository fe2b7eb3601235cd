"""The WorkerHost port: what runs the agent of a worker, wherever that is.

A host keeps no contract of its own: rows, receipts and events are the control plane's. Every call
is about one worker in its present epoch: the leader alone begins and ends epochs.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from atoll.domain.ids import SandboxId
from atoll.domain.workers.ledger import Receipt, WorkerRequest
from atoll.domain.workers.lifecycle import DurabilityMarkers, WorkerTornDown
from atoll.domain.workers.record import WorkerRecord


@dataclass(frozen=True, slots=True)
class HostPlace:
    """The sandbox of a worker, and whether it was there before."""

    sandbox_id: SandboxId
    reattached: bool


@dataclass(frozen=True, slots=True)
class HostEntry:
    """An entry of a host's spool, numbered from 1 without gaps: a receipt of `request_id`, or what
    the agent said of itself (`line`, its JSON)."""

    n: int
    at: datetime
    line: str = ""
    request_id: str = ""
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class HostDeltas:
    """Pieces of text that the agent said, each its JSON, which came after entry `after` of the
    spool and before the next one."""

    after: int
    lines: tuple[bytes, ...]


@runtime_checkable
class LiveHost(Protocol):
    """A host whose agents are heard live, too. Where none is, only whole items are seen."""

    def live(self, worker: WorkerRecord) -> AbstractAsyncContextManager[AsyncIterator[HostDeltas]]:
        """Yield what the agent says from now on. What its reader is too slow for is lost. Raises as
        `WorkerHost`."""
        ...


class WorkerHost(Protocol):
    """A host of workers. Raises `Unavailable` where it cannot be reached now or where the worker's
    agent has ended, `Conflict` where its sandbox does not run: `lost_reason` tells which."""

    async def provision(self, worker: WorkerRecord) -> HostPlace:
        """Make the sandbox of this epoch, or find the one that an earlier call made, and wait
        until it is ready. Raises `Failed` with the reason."""
        ...

    async def start_agent(self, worker: WorkerRecord) -> str:
        """Start the agent in its machine mode, or find the one that an earlier call started.
        Returns its id. Raises `Failed`."""
        ...

    async def request(
        self, worker: WorkerRecord, request: WorkerRequest, *, wait_ms: int
    ) -> Receipt | None:
        """Send a request once, whatever is repeated. None while it is pending after `wait_ms`."""
        ...

    async def stream(
        self, worker: WorkerRecord, after: int, *, wait_seconds: int
    ) -> Sequence[HostEntry]:
        """Return entries above `after`, waiting for the first; those up to `after` are freed."""
        ...

    async def lost_reason(self, worker: WorkerRecord) -> str | None:
        """Return None while the worker is served, else the reason why it is lost."""
        ...

    async def quiet(self, worker: WorkerRecord) -> None:
        """Interrupt the agent's turn and end the agent; idempotent. Its last words are in the
        stream after that."""
        ...

    async def stop(self, worker: WorkerRecord) -> DurabilityMarkers:
        """Save the work, and end the processes of the sandbox; idempotent."""
        ...

    async def teardown(self, worker: WorkerRecord) -> WorkerTornDown:
        """Remove the sandbox; idempotent."""
        ...
