"""A store that measures: how long transactions and appends take, and its connections in use."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from atoll.domain.event import Event, EventDraft
from atoll.ports import Store, Transaction
from atoll.ports.store.events import EventRows
from atoll.ports.telemetry.metrics import Metric, Metrics, Readings

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

TRANSACTION_SECONDS: Final = Metric(
    "atoll_store_transaction_seconds",
    "Time of a committed transaction, with its wait for a connection, by kind (read, write).",
    ("kind",),
    _SECONDS,
)
APPEND_SECONDS: Final = Metric(
    "atoll_event_append_seconds",
    "Time from the first event that a transaction appends to its commit.",
    (),
    _SECONDS,
)
EVENTS: Final = Metric("atoll_events_appended_total", "Events that were committed to the log.")
CONNECTIONS: Final = Metric(
    "atoll_database_connections",
    "Connections of the pools to the database that are in use, by pool (read, write).",
    ("pool",),
)


@dataclass(slots=True)
class _Appends:
    count: int = 0
    began: float = 0.0


class _MeteredEvents:
    """Event rows of one transaction; all but `append` passes through."""

    def __init__(self, rows: EventRows, appends: _Appends) -> None:
        self._rows = rows
        self._appends = appends

    async def append(self, drafts: Sequence[EventDraft]) -> list[Event]:
        if not self._appends.count:
            self._appends.began = time.monotonic()
        self._appends.count += len(drafts)
        return await self._rows.append(drafts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


class MeteredStore:
    """The `ports.store.store.Store` on another one. `in_use` returns the connections in use by
    pool."""

    def __init__(
        self, store: Store, metrics: Metrics, in_use: Callable[[], Mapping[str, int]]
    ) -> None:
        self._store = store
        self._in_use = in_use
        self._metrics = metrics
        metrics.watch(CONNECTIONS, self._connections)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """See the port."""
        began, appends = time.monotonic(), _Appends()
        async with self._store.begin() as rows:
            yield replace(rows, events=cast(EventRows, _MeteredEvents(rows.events, appends)))
        now = time.monotonic()
        self._metrics.observe(TRANSACTION_SECONDS, now - began, "write")
        if appends.count:
            self._metrics.count(EVENTS, by=appends.count)
            self._metrics.observe(APPEND_SECONDS, now - appends.began)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        """See the port."""
        began = time.monotonic()
        async with self._store.read() as rows:
            yield rows
        self._metrics.observe(TRANSACTION_SECONDS, time.monotonic() - began, "read")

    async def close(self) -> None:
        """See the port."""
        await self._store.close()

    async def _connections(self) -> Readings:
        return {(pool,): count for pool, count in self._in_use().items()}
