"""Rows of meters, and of the states that they are derived from."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.meters.cost import MeterTotal
from atoll.domain.meters.hosts import HostState
from atoll.domain.meters.meter import Meter, MeterFilter
from atoll.domain.meters.state import MeterState
from atoll.domain.paging import PageQuery, RowPage
from atoll.ports.store.records import Records


class MeterRows(Protocol):
    """Meters by id. They are added and removed by age, and never changed."""

    async def add(self, meters: Iterable[Meter]) -> None:
        """Add meters. One whose id is there already changes nothing."""
        ...

    async def page(self, wanted: MeterFilter, page: PageQuery) -> RowPage[Meter]:
        """Return a page of the wanted meters, the last to begin first, and by id."""
        ...

    async def totals(self, wanted: MeterFilter) -> list[MeterTotal]:
        """Return the sums of the wanted meters by kind, agent and currency."""
        ...

    async def drop(self, before: datetime, limit: int) -> int:
        """Remove at most so many meters that ended before a moment, the oldest first. Returns their
        number."""
        ...


class MeterStateRows(Records[MeterState, SandboxId], Protocol):
    """States by sandbox."""

    async def of(self, sandboxes: Iterable[SandboxId]) -> Mapping[SandboxId, MeterState]:
        """Return the states of these sandboxes; one without a state is missing."""
        ...

    async def open(self) -> list[MeterState]:
        """Return the states in which something is open."""
        ...

    async def on_host(self, host: str) -> list[MeterState]:
        """Return the states of sandboxes that have room on a host reserved."""
        ...

    async def drop(self, before: datetime) -> None:
        """Remove the states of destroyed sandboxes that nothing of is left, since before a
        moment."""
        ...


class MeterHostRows(Records[HostState, str], Protocol):
    """States of hosts that cost something, by name."""

    async def everything(self) -> list[HostState]:
        """Return all states, by name."""
        ...
