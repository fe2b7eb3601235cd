import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.clocks import SystemClock
from atoll.adapters.storage.store import Settings, open_store
from atoll.adapters.workers.in_memory import InMemoryHost
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Invalid,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.domain.ids import PrincipalId, WorkerKey
from atoll.domain.paging import PageQuery
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.decision import Decision, RouteRequest, decide
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.domain.workers.create import CreateWorker, WorkerId, WorkerTeardown
from atoll.domain.workers.ledger import LOST, Response, WorkerRequest
from atoll.domain.workers.lifecycle import Silent
from atoll.domain.workers.snapshot import WorkerSnapshot
from atoll.ports import RuntimeClient
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.task_runner import TaskRunner
from atoll.services.telemetry import OFF, Telemetry
from atoll.services.workers.admission import WorkerAdmission
from atoll.services.workers.driving import WorkerDriver
from atoll.services.workers.fallback import WorkerFallback
from atoll.services.workers.heartbeats import Heartbeats
from atoll.services.workers.live import LiveDeltas
from atoll.services.workers.streams import WorkerStreams
from atoll.services.workers.transitions import WorkerTransitions
from atoll.services.workers.workers import Workers
from atoll.testing import FakeAgentLayers
from atoll.testing.fakes.telemetry import FakeMetrics
from atoll.wire.words.routes import Strategy
from atoll.wire.words.workers import TeardownPolicy, WorkerStatus
from tests.peers.databases.chosen import database_url

OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"))
WANTED = CreateWorker(WorkerId("w"), teardown=WorkerTeardown(TeardownPolicy.RETAIN, 3600))
TURN = WorkerRequest("r1", "turn/start", {"threadId": "t", "input": []})


@dataclass
class Scene:
    """Workers over one database and a host in memory."""

    ground: Ground
    host: InMemoryHost
    workers: Workers
    streams: WorkerStreams

    async def key(self) -> WorkerKey:
        async with self.ground.store.read() as rows:
            found = await rows.workers.find(LOCAL_PERSON.org_id, LOCAL_PERSON.id, WorkerId("w"))
        assert found is not None
        return found.key

    async def until(
        self, wanted: Callable[[WorkerSnapshot], bool], worker: str = "w"
    ) -> WorkerSnapshot:
        with self.ground.bus.listen() as listener:
            async with asyncio.timeout(20):
                while not wanted(shown := await self.workers.get(LOCAL_PERSON, worker)):
                    await listener.wait()
        return shown

    async def running(self, wanted: CreateWorker = WANTED) -> WorkerKey:
        await self.workers.create(LOCAL_PERSON, wanted)
        await self.until(lambda shown: shown.worker.status is WorkerStatus.RUNNING)
        return await self.key()

    async def kinds(self) -> list[str]:
        page = await self.streams.page(LOCAL_PERSON, "w", after=0)
        assert [one.seq for one in page.events] == list(range(1, len(page.events) + 1))
        return [one.event_type.removeprefix("worker.") for one in page.events]

    async def heard(self, *kinds: str) -> None:
        with self.ground.bus.listen() as listener:
            async with asyncio.timeout(20):
                while await self.kinds() != list(kinds):
                    await listener.wait()


class Anywhere:
    """Routes that place every worker."""

    async def explain(self, caller: Principal, request: CreateSandbox) -> Decision:
        del caller, request
        return decide(RouteRequest(Strategy.PREFER_SELF_HOSTED), (Candidate("ext.namespaces"),))

    async def get(self, caller: Principal, ref: str) -> Sandbox:
        raise NotFound(f"nothing is {ref} of {caller.id}")

    async def runtime(self, caller: Principal, ref: str) -> tuple[Sandbox, RuntimeClient]:
        raise NotFound(f"nothing is {ref} of {caller.id}")

    async def place_worker(
        self, caller: Principal, request: CreateSandbox, *, walled: bool
    ) -> Decision:
        del walled
        return await self.explain(caller, request)


def admission_of(anywhere: Anywhere) -> WorkerAdmission:
    """Return the admission of workers where there is no sandbox to look into."""
    checks: Any = None
    return WorkerAdmission(anywhere, anywhere, FakeAgentLayers(), access=anywhere, checks=checks)


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Scene]:
    async with open_store(Settings(database_url(folder))) as store:
        clock = SystemClock()
        telemetry = Telemetry(FakeMetrics(), OFF.tracer, metered=True)
        ground = Ground(store, InProcessBus(), clock, Identifiers(), telemetry)
        transitions, host, runner = WorkerTransitions(ground), InMemoryHost(clock), TaskRunner()
        beats = Heartbeats(ground, transitions)
        driver = WorkerDriver(
            *(ground, transitions),
            host=host,
            fallback=WorkerFallback(ground, host),
            heartbeats=beats,
            tasks=runner,
        )
        workers = Workers(
            ground,
            transitions,
            driver,
            host=host,
            admission=admission_of(Anywhere()),
        )
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(runner.run()), tasks.create_task(driver.run())]
            await asyncio.sleep(0)
            streams = WorkerStreams(ground, LiveDeltas(ground, host, tasks=runner))
            yield Scene(ground, host, workers, streams)
            for one in running:
                one.cancel()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with serving(tmp_path) as found:
        yield found


async def test_request_has_one_receipt_and_other_content_is_a_conflict(scene: Scene) -> None:
    """Other `params` under the same `request_id`."""
    key = await scene.running()
    for _ in range(3):
        got = await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=100)
        assert got == Response("{}")
    with pytest.raises(Conflict):
        other = replace(TURN, params={"threadId": "other", "input": []})
        await scene.workers.request(LOCAL_PERSON, "w", other, wait_ms=100)
    assert scene.host.sent(key) == ["r1"]
    await scene.heard("started", "request.received", "response")


async def test_request_waits_for_its_receipt_as_long_as_wait_ms(scene: Scene) -> None:
    key = await scene.running()
    scene.host.held.add("turn/start")
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) is None
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=60_000))
        await asyncio.sleep(0.05)
        scene.host.answer(key, "r1", Response('{"turn":1}'))
    assert waiting.result() == Response('{"turn":1}')
    assert scene.host.sent(key) == ["r1"]
    with pytest.raises(Invalid):
        await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=60_001)


async def test_hundred_requests_are_open_at_once_and_no_more(scene: Scene) -> None:
    key = await scene.running()
    scene.host.held.add("turn/start")
    for number in range(100):
        one = replace(TURN, request_id=f"n{number}")
        assert await scene.workers.request(LOCAL_PERSON, "w", one, wait_ms=0) is None
    with pytest.raises(LimitReached):
        await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0)
    scene.host.answer(key, "n0", Response("{}"))
    await scene.until(lambda shown: "n0" not in shown.observed.pending.request_ids)
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) is None


async def test_what_the_agent_says_is_kept_byte_for_byte(scene: Scene) -> None:
    key = await scene.running()
    scene.host.say(key, '{"method":"item/completed","params":{"n":9007199254740993, "f":1.0}}')
    await scene.heard("started", "event")
    page = await scene.streams.page(LOCAL_PERSON, "w", after=1)
    assert page.events[0].payload["params"] == '{"n":9007199254740993, "f":1.0}'


async def test_lost_runtime_ends_open_requests_and_a_reattachment_begins_anew(
    scene: Scene,
) -> None:
    key = await scene.running()
    scene.host.held.add("turn/start")
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) is None
    scene.host.end(key, "the runtime ended")
    await scene.heard("started", "request.received", "lost", "error")
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) == LOST
    with pytest.raises(Conflict, match="does not run"):
        fresh = replace(TURN, request_id="r2")
        await scene.workers.request(LOCAL_PERSON, "w", fresh, wait_ms=0)
    _, there = await scene.workers.create(LOCAL_PERSON, WANTED)
    assert there
    await scene.heard("started", "request.received", "lost", "error", "started")


@pytest.mark.parametrize("gone", [Conflict("it ended", code="not_running"), NotFound("gone")])
async def test_request_whose_host_ends_meanwhile_waits_for_its_receipt(
    scene: Scene, gone: AtollError
) -> None:
    """Which the driver gives it, once it knows."""
    key = await scene.running()
    scene.host.failing["request"] = gone
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) is None
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=50) is None
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=20_000))
        await asyncio.sleep(0.05)
        scene.host.end(key, "the runtime ended")
    assert waiting.result() == LOST
    assert scene.host.sent(key) == []


async def test_new_sandbox_of_a_lost_worker_is_followed_from_its_first_entry(
    scene: Scene,
) -> None:
    """The old sandbox had more entries than the new one has."""
    key = await scene.running()
    for _ in range(2):
        scene.host.say(key, '{"method":"turn/started"}')
    await scene.heard("started", "event", "event")
    scene.host.end(key, "the runtime ended")
    await scene.heard("started", "event", "event", "lost")
    await scene.workers.create(LOCAL_PERSON, WANTED)
    await scene.heard("started", "event", "event", "lost", "started")
    scene.host.say(key, '{"method":"turn/started"}')
    await scene.heard("started", "event", "event", "lost", "started", "event")


async def test_silent_host_that_returns_delivers_what_it_kept_after_its_return(
    scene: Scene,
) -> None:
    """Once, and in order."""
    key = await scene.running()
    await WorkerTransitions(scene.ground).apply(key, Silent("cut off"))
    for n in range(2):
        scene.host.say(key, f'{{"method":"turn/started","params":{n}}}')
    await scene.heard("started", "lost", "recovered", "event", "event")
    page = await scene.streams.page(LOCAL_PERSON, "w", after=2)
    assert page.events[0].payload["delivered"] == 2
    assert [one.payload["params"] for one in page.events[1:]] == ["0", "1"]


async def test_silent_host_that_died_ends_open_requests(scene: Scene) -> None:
    """They wait while it may return."""
    key = await scene.running()
    scene.host.held.add("turn/start")
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) is None
    scene.host.failing["stream"] = Unavailable("cut off")
    await WorkerTransitions(scene.ground).apply(key, Silent("cut off"))
    scene.host.end(key, "the runtime ended")
    await scene.heard("started", "request.received", "lost", "error")
    assert await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=0) == LOST


async def test_reattachment_of_a_worker_that_runs_keeps_its_lease(scene: Scene) -> None:
    """Its epoch is the same."""
    key = await scene.running()
    await scene.workers.create(LOCAL_PERSON, WANTED)
    async with scene.ground.store.read() as rows:
        record = await rows.workers.get(key)
    assert record is not None
    assert record.lease.epoch == record.worker.epoch == 1


async def test_starts_requests_and_losses_are_counted_once(scene: Scene) -> None:
    """A repeated request and a repeated loss count once."""
    key = await scene.running()
    for _ in range(2):
        await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=100)
    scene.host.held.add("turn/start")
    fresh = replace(TURN, request_id="r2")
    assert await scene.workers.request(LOCAL_PERSON, "w", fresh, wait_ms=0) is None
    scene.host.end(key, "the runtime ended")
    await scene.heard(
        "started", "request.received", "response", "request.received", "lost", "error"
    )
    metrics = scene.ground.telemetry.metrics
    assert isinstance(metrics, FakeMetrics)
    counted = {(one.name, *labels): by for (one, labels), by in metrics.counted.items()}
    assert counted == {
        ("atoll_worker_starts_total", "started"): 1,
        ("atoll_worker_requests_total", "response"): 1,
        ("atoll_worker_requests_total", "outcome_unknown"): 1,
        ("atoll_worker_losses_total",): 1,
    }
    observed = {one.name: len(seconds) for (one, _), seconds in metrics.observed.items()}
    assert observed == {"atoll_worker_start_seconds": 1, "atoll_worker_answer_seconds": 1}


async def test_stopped_worker_that_is_not_retained_is_removed(scene: Scene) -> None:
    """Its `policy` is immediate."""
    immediate = replace(WANTED, teardown=WorkerTeardown(TeardownPolicy.IMMEDIATE))
    await scene.running(immediate)
    for _ in range(2):
        await scene.workers.stop(LOCAL_PERSON, "w", None)
    await scene.heard("started", "stopped", "torn_down")
    with pytest.raises(Conflict):
        await scene.workers.create(LOCAL_PERSON, immediate)


async def test_retained_worker_is_reattached_after_a_stop(scene: Scene) -> None:
    """The same `worker_id` is the same worker."""
    await scene.running()
    await scene.workers.stop(LOCAL_PERSON, "w", "done for today")
    await scene.heard("started", "stopped")
    _, there = await scene.workers.create(LOCAL_PERSON, WANTED)
    assert there
    await scene.heard("started", "stopped", "started")


async def test_start_that_fails_is_told(scene: Scene) -> None:
    scene.host.failing["start_agent"] = Failed("no such agent")
    await scene.workers.create(LOCAL_PERSON, WANTED)
    shown = await scene.until(lambda shown: shown.worker.status is WorkerStatus.FAILED)
    assert shown.worker.reason == "no such agent"
    assert await scene.kinds() == ["stopped"]


async def test_foreign_worker_is_like_a_missing_one(scene: Scene) -> None:
    await scene.running()
    for name in ("w", "nowhere"):
        for act in (
            scene.workers.get(OTHER, name),
            scene.workers.request(OTHER, name, TURN, wait_ms=0),
            scene.workers.stop(OTHER, name, None),
            scene.streams.page(OTHER, name, after=0),
        ):
            with pytest.raises(NotFound, match=f"no worker '{name}'"):
                await act
    assert (await scene.workers.list(OTHER, PageQuery(10))).rows == []
    assert len((await scene.workers.list(LOCAL_PERSON, PageQuery(10))).rows) == 1


@pytest.mark.parametrize("method", ["config/read", "command/exec", "nothing"])
async def test_method_that_no_table_allows_is_never_sent(scene: Scene, method: str) -> None:
    key = await scene.running()
    with pytest.raises(Invalid):
        await scene.workers.request(LOCAL_PERSON, "w", replace(TURN, method=method), wait_ms=0)
    assert scene.host.sent(key) == []


async def test_last_words_are_taken_in_however_many_they_are(scene: Scene) -> None:
    key = await scene.running()
    for number in range(950):
        scene.host.say(key, f'{{"method":"item/completed","params":{number}}}')
    scene.host.last_words = ['{"method":"turn/completed"}', '{"method":"thread/closed"}']
    await scene.workers.stop(LOCAL_PERSON, "w", None)
    shown = await scene.until(lambda shown: shown.worker.status is WorkerStatus.STOPPED)
    assert shown.worker.markers is not None
    assert (shown.worker.markers.last_seq, shown.observed.latest_seq) == (953, 954)
    page = await scene.streams.page(LOCAL_PERSON, "w", after=951)
    assert [one.payload.get("method") for one in page.events] == [
        "turn/completed", "thread/closed", None
    ]  # fmt: skip


async def test_retained_worker_is_removed_once_retain_for_is_over(scene: Scene) -> None:
    """Its `retain_for` is a second."""
    await scene.running(replace(WANTED, teardown=WorkerTeardown(TeardownPolicy.RETAIN, 1)))
    await scene.workers.stop(LOCAL_PERSON, "w", None)
    await scene.heard("started", "stopped", "torn_down")


async def test_another_control_plane_goes_on_where_one_was_killed(tmp_path: Path) -> None:
    async with serving(tmp_path) as first:
        await first.running()
    async with serving(tmp_path) as second:
        shown = await second.until(lambda shown: shown.worker.reason is not None)
        assert shown.worker.reason == "Its sandbox is gone."
