import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import Conflict
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, WorkerKey
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.heartbeat import LEASE, Lease
from atoll.domain.workers.lifecycle import HostContact, Reattach, Returned, Worker
from atoll.domain.workers.record import WorkerRecord
from atoll.ports import Store, Transaction
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.workers.heartbeats import SILENCE, Heartbeats
from atoll.services.workers.transitions import WorkerTransitions
from atoll.testing import FakeLeadership
from atoll.testing.fakes.clock import VirtualClock
from atoll.wire.words.workers import WorkerStatus
from tests.peers.databases.chosen import database_url

KEY = WorkerKey("wk_a")
LEASE_SECONDS = LEASE.total_seconds()


@dataclass
class Scene:
    """Heartbeats over one database, whose clock the test turns."""

    ground: Ground
    clock: VirtualClock
    transitions: WorkerTransitions
    heartbeats: Heartbeats

    async def put(self, key: WorkerKey = KEY) -> WorkerRecord:
        created = CreateWorker(WorkerId(key))
        running = Worker(created.worker_id, status=WorkerStatus.RUNNING)
        owner, now = PrincipalId("ada"), self.clock.now()
        record = WorkerRecord(key, PERSONAL_ORG, owner, created, running, Lease(1, now), now)
        async with self.ground.store.begin() as rows:
            await rows.workers.put(record)
        self.heartbeats.watch(record)
        return record

    async def get(self, key: WorkerKey = KEY) -> WorkerRecord:
        async with self.ground.store.read() as rows:
            found = await rows.workers.get(key)
        assert found is not None
        return found

    async def after(self, seconds: float) -> None:
        self.clock.turn(seconds)
        await self.heartbeats.store()

    async def told(self) -> list[str]:
        async with self.ground.store.read() as rows:
            events = await rows.worker_events.page(KEY, 0, 100)
        kinds = [one.event_type.removeprefix("worker.") for one in events]
        states = [str(one.payload.get("heartbeat_state", "")) for one in events]
        return [f"{kind} {state}".strip() for kind, state in zip(kinds, states, strict=True)]


class CountedStore:
    """A store that counts its writing transactions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.begun = 0

    def begin(self) -> AbstractAsyncContextManager[Transaction]:
        self.begun += 1
        return self._store.begin()

    def read(self) -> AbstractAsyncContextManager[Transaction]:
        return self._store.read()

    async def close(self) -> None:
        await self._store.close()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with open_store(Settings(database_url(tmp_path))) as store:
        clock = VirtualClock()
        ground = Ground(store, InProcessBus(), clock, Identifiers())
        transitions = WorkerTransitions(ground)
        yield Scene(ground, clock, transitions, Heartbeats(ground, transitions))


async def test_heartbeats_renew_the_lease_without_an_event(scene: Scene) -> None:
    record = await scene.put()
    for _ in range(9):
        scene.clock.turn(10)
        scene.heartbeats.beat(record)
        await scene.heartbeats.store()
    found = await scene.get()
    assert found.lease == Lease(1, scene.clock.now())
    assert found.worker.contact is HostContact.PRESENT
    assert await scene.told() == []


async def test_silent_host_is_stale_then_lost_with_the_reason(scene: Scene) -> None:
    await scene.put()
    for _ in range(4):
        await scene.after(10)
    found = await scene.get()
    assert (found.worker.contact, found.worker.reason) == (HostContact.LOST, SILENCE)
    assert await scene.told() == ["heartbeat stale", "heartbeat missing", "lost"]


async def test_host_that_beats_again_before_the_third_is_fresh(scene: Scene) -> None:
    record = await scene.put()
    await scene.after(LEASE_SECONDS - 1)
    scene.heartbeats.beat(record)
    await scene.after(0)
    assert await scene.told() == ["heartbeat stale", "heartbeat fresh"]


async def test_lost_host_that_returns_in_its_epoch_is_watched_anew(scene: Scene) -> None:
    await scene.put()
    await scene.after(LEASE_SECONDS)
    back, _ = await scene.transitions.apply(KEY, Returned(1, delivered=3))
    scene.heartbeats.watch(back)
    await scene.after(1)
    assert await scene.told() == ["heartbeat missing", "lost", "recovered", "heartbeat fresh"]
    await scene.after(LEASE_SECONDS)
    assert (await scene.told())[-2:] == ["heartbeat missing", "lost"]


async def test_heartbeat_of_an_epoch_that_has_passed_renews_nothing(scene: Scene) -> None:
    """Its worker was reattached elsewhere."""
    old = await scene.put()
    await scene.after(LEASE_SECONDS)
    again, _ = await scene.transitions.apply(KEY, Reattach())
    assert again.lease == Lease(2, scene.clock.now())
    scene.heartbeats.watch(old)
    scene.heartbeats.beat(old)
    await scene.after(5)
    assert (await scene.get()).lease == again.lease


async def test_worker_that_stops_owes_no_heartbeat(scene: Scene) -> None:
    record = await scene.put()
    stopping = replace(record.worker, status=WorkerStatus.STOPPING)
    async with scene.ground.store.begin() as rows:
        await rows.workers.put(replace(record, worker=stopping))
    await scene.after(LEASE_SECONDS)
    assert await scene.told() == []


async def test_leader_that_was_replaced_calls_no_host_silent(scene: Scene) -> None:
    """It stood still, and the next leader has the newer heartbeats."""
    record = await scene.put()
    stale = Heartbeats(replace(scene.ground, leadership=FakeLeadership()), scene.transitions)
    stale.watch(record)
    scene.clock.turn(LEASE_SECONDS)
    with pytest.raises(Conflict):
        await stale.store()
    assert await scene.told() == []
    assert (await scene.get()).worker.contact is HostContact.PRESENT


async def test_heartbeats_of_a_second_are_one_transaction(scene: Scene) -> None:
    """Of a thousand workers."""
    records = [await scene.put(WorkerKey(f"wk_{n}")) for n in range(1000)]
    counted = CountedStore(scene.ground.store)
    heartbeats = Heartbeats(replace(scene.ground, store=counted), scene.transitions)
    scene.clock.turn(10)
    for one in records:
        heartbeats.watch(one)
        heartbeats.beat(one)
    for _ in range(2):
        await heartbeats.store()
    assert counted.begun == 1
    assert (await scene.get(records[-1].key)).lease.renewed_at == scene.clock.now()


async def test_heartbeats_are_stored_every_second(scene: Scene) -> None:
    await scene.put()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(scene.heartbeats.run())
        with scene.ground.bus.listen() as listener:
            await asyncio.sleep(0)
            assert scene.clock.awaited(1)
            scene.clock.turn(LEASE_SECONDS)
            await listener.wait()
        running.cancel()
    assert (await scene.get()).worker.contact is HostContact.LOST
