"""A store that measures is a store, and counts what was committed alone."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_store
from atoll.adapters.telemetry.metered_store import (
    APPEND_SECONDS,
    CONNECTIONS,
    EVENTS,
    TRANSACTION_SECONDS,
    MeteredStore,
)
from atoll.ports import Store
from atoll.testing import FakeMetrics
from atoll.testing.samples import draft
from tests.adapters.storage.contract import Check, StoreContract, row_checks
from tests.adapters.storage.event_log import append


@asynccontextmanager
async def opened(metrics: FakeMetrics) -> AsyncIterator[MeteredStore]:
    with tempfile.TemporaryDirectory(prefix="at") as path:
        async with open_store(Settings(sqlite_url(Path(path) / "a.db"))) as store:
            yield MeteredStore(store, metrics, store.engines.in_use)


class TestMeteredStore(StoreContract):
    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        async with opened(FakeMetrics()) as store:
            yield store

    # All rows but those of events are the store's own.
    @pytest.mark.slow
    @pytest.mark.parametrize("check", row_checks(), ids=lambda check: check.__name__[6:])
    async def test_rows(self, check: Check) -> None:
        await super().test_rows(check)


async def test_committed_events_are_counted_and_timed_and_others_are_not() -> None:
    metrics = FakeMetrics()
    async with opened(metrics) as store:
        await append(store, [draft(1), draft(2)])
        with pytest.raises(RuntimeError):
            async with store.begin() as rows:
                await rows.events.append((draft(3),))
                raise RuntimeError("a defect")
        async with store.begin():
            pass
        async with store.read() as rows:
            assert await rows.events.last_position() == 2
    assert metrics.counted == {(EVENTS, ()): 2}
    assert len(metrics.observed[(APPEND_SECONDS, ())]) == 1
    assert len(metrics.observed[(TRANSACTION_SECONDS, ("write",))]) == 2
    assert len(metrics.observed[(TRANSACTION_SECONDS, ("read",))]) == 1


async def test_connections_in_use_are_read_by_pool() -> None:
    metrics = FakeMetrics()
    async with opened(metrics) as store:
        _, read = metrics.readings[CONNECTIONS.name]
        assert await read() == {("write",): 0, ("read",): 0}
        async with store.read(), store.read():
            assert await read() == {("write",): 0, ("read",): 2}
        async with store.begin():
            assert await read() == {("write",): 1, ("read",): 0}
