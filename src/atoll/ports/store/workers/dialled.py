"""Rows of dialled hosts: their leases, what they are offered, and what they delivered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.ids import DesktopId, WorkerKey
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.dialled import HostLease
from atoll.ports.outside.worker_host import HostEntry
from atoll.ports.vault import Sealed


@dataclass(frozen=True, slots=True)
class SealedOffer:
    """An offer as it is stored: its command is sealed. `number` is 0 before it has one."""

    desktop_id: DesktopId
    key: WorkerKey
    worker_id: WorkerId
    epoch: int
    request_id: str
    sealed: Sealed
    number: int = 0


class HostLeaseRows(Protocol):
    """Leases, one for each worker and epoch."""

    async def put(self, lease: HostLease) -> None:
        """Add a lease, or replace it."""
        ...

    async def get(self, key: WorkerKey, epoch: int) -> HostLease | None:
        """Return the lease of a worker in an epoch."""
        ...

    async def newest(self, key: WorkerKey) -> HostLease | None:
        """Return the lease of a worker's highest epoch."""
        ...

    async def by_mark(self, mark: str) -> HostLease | None:
        """Return the lease whose token has this fingerprint, also one that has ended."""
        ...

    async def of_desktop(self, desktop_id: DesktopId) -> list[HostLease]:
        """Return the leases of a desktop."""
        ...

    async def remove(self, key: WorkerKey) -> None:
        """Remove the leases of a worker, of every epoch."""
        ...


class HostOfferRows(Protocol):
    """Offers that have no receipt yet."""

    async def add(self, offer: SealedOffer) -> None:
        """Number an offer and add it; nothing where its worker has one of this epoch and
        `request_id`."""
        ...

    async def put(self, offer: SealedOffer) -> None:
        """Replace an offer by the one with its number."""
        ...

    async def page(self, desktop_id: DesktopId, after: int, limit: int) -> list[SealedOffer]:
        """Return the first offers of a desktop after a number, in order."""
        ...

    async def everything(self) -> list[SealedOffer]:
        """Return every offer."""
        ...

    async def remove(self, key: WorkerKey, epoch: int, request_id: str) -> None:
        """Remove an offer; nothing where it is gone."""
        ...

    async def clear(self, key: WorkerKey) -> None:
        """Remove the offers of a worker."""
        ...


class HostEntryRows(Protocol):
    """Entries that hosts delivered and nobody has taken into a stream yet."""

    async def add(self, key: WorkerKey, epoch: int, entries: Sequence[HostEntry]) -> None:
        """Add entries that are numbered."""
        ...

    async def page(self, key: WorkerKey, epoch: int, after: int, limit: int) -> list[HostEntry]:
        """Return the first entries of an epoch after a number, in order; fewer than `limit` where
        they are large."""
        ...

    async def size(self, key: WorkerKey, epoch: int) -> int:
        """Return the characters of the entries of an epoch."""
        ...

    async def answer(self, key: WorkerKey, epoch: int, request_id: str) -> HostEntry | None:
        """Return the first receipt of a request, while it is kept."""
        ...

    async def free(self, key: WorkerKey, epoch: int, upto: int) -> None:
        """Remove the entries of an epoch up to a number, and those of earlier epochs."""
        ...

    async def clear(self, key: WorkerKey) -> None:
        """Remove the entries of a worker."""
        ...
