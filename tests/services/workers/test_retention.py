"""What agents said is kept for a time of its own, or until its owner deletes it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from atoll.domain.errors import Forbidden, NotFound, StaleCursor
from atoll.domain.ids import WorkerKey
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.ledger import Response
from atoll.services.workers.retention import BATCH, DELETED, Erased, WorkerRetention
from tests.services.workers.test_workers import OTHER, TURN, Scene, serving

FILE = WorkerArtifact("a", "text/plain", 1, "a" * 64)
SECRETS = "what the agent said"


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with serving(tmp_path) as found:
        yield found


async def spoken(scene: Scene, count: int = 3) -> WorkerKey:
    """A worker with an answer, so many events after it, and an artifact."""
    key = await scene.running()
    scene.host.held.add("turn/start")
    await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0)
    scene.host.answer(key, "r1", Response(f'"{SECRETS}"'))
    for _ in range(count):
        scene.host.say(key, f'{{"method":"item/completed","params":"{SECRETS}"}}')
    await scene.until(lambda shown: shown.observed.latest_seq == count + 3)
    async with scene.ground.store.begin() as rows:
        await rows.worker_artifacts.put(key, FILE, scene.ground.clock.now())
    return key


async def test_sweep_removes_what_is_old_but_the_newest_event(scene: Scene) -> None:
    key = await spoken(scene, 2 * BATCH)
    assert await WorkerRetention(scene.ground, timedelta(hours=1)).sweep() == 0
    assert await WorkerRetention(scene.ground, None).sweep() == 0
    assert await WorkerRetention(scene.ground, timedelta(0)).sweep() == 2 * BATCH + 2
    page = await scene.streams.page(LOCAL_PERSON, "w", after=2 * BATCH + 2)
    assert [one.seq for one in page.events] == [2 * BATCH + 3]
    with pytest.raises(StaleCursor):
        await scene.streams.page(LOCAL_PERSON, "w", after=0)
    shown = await scene.workers.get(LOCAL_PERSON, "w")
    assert (shown.observed.latest_seq, shown.observed.artifacts) == (2 * BATCH + 3, ())
    scene.host.say(key, '{"method":"turn/started"}')
    await scene.until(lambda shown: shown.observed.latest_seq == 2 * BATCH + 4)
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) == DELETED
    assert scene.host.sent(key) == ["r1"]


async def test_owner_deletes_what_was_said_and_the_numbers_go_on(scene: Scene) -> None:
    key = await spoken(scene)
    retention = WorkerRetention(scene.ground, timedelta(days=1))
    assert await retention.erase(LOCAL_PERSON, "w") == Erased(5, 5)
    assert await retention.erase(LOCAL_PERSON, "w") == Erased(0, 5)
    await scene.workers.stop(LOCAL_PERSON, "w", None)
    await scene.until(lambda shown: shown.observed.latest_seq == 7)
    assert await retention.erase(LOCAL_PERSON, "w") == Erased(1, 6)
    page = await scene.streams.page(LOCAL_PERSON, "w", after=6)
    assert [one.event_type for one in page.events] == ["worker.stopped"]
    async with scene.ground.store.read() as rows:
        stored = await rows.worker_requests.get(key, "r1")
        assert stored is not None and stored.entry.receipt == DELETED
        assert await rows.worker_artifacts.list(key) == []


async def test_receipt_whose_event_stays_is_kept(scene: Scene) -> None:
    """The newest event is one."""
    await scene.running()
    receipt = await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=100)
    retention = WorkerRetention(scene.ground, timedelta(days=1))
    assert await retention.erase(LOCAL_PERSON, "w") == Erased(2, 2)
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) == receipt


async def test_open_request_outlasts_a_deletion(scene: Scene) -> None:
    key = await scene.running()
    scene.host.held.add("turn/start")
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) is None
    scene.host.say(key, '{"method":"turn/started"}')
    await scene.until(lambda shown: shown.observed.latest_seq == 3)
    await WorkerRetention(scene.ground, None).erase(LOCAL_PERSON, "w")
    scene.host.answer(key, "r1", Response("7"))
    await scene.until(lambda shown: shown.observed.latest_seq == 4)
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) == Response("7")


async def test_only_its_owner_deletes_a_stream(scene: Scene) -> None:
    await spoken(scene)
    retention = WorkerRetention(scene.ground, timedelta(days=1))
    for name in ("w", "nowhere"):
        with pytest.raises(NotFound, match=f"no worker '{name}'"):
            await retention.erase(OTHER, name)
    reader = replace(LOCAL_PERSON, capabilities=frozenset({Capability.AGENT_READ}))
    with pytest.raises(Forbidden):
        await retention.erase(reader, "w")
    assert len((await scene.streams.page(LOCAL_PERSON, "w", after=0)).events) == 6
