"""Workers on a desktop that dials: offers, deliveries, and a host that was cut off."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.clocks import SystemClock
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import open_store
from atoll.adapters.vaults.envelope import EnvelopeVault, MasterKey
from atoll.adapters.workers.dialled import DialledHost, Settings
from atoll.adapters.workers.in_memory import InMemoryHost
from atoll.domain.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from atoll.domain.ids import PrincipalId, WorkerKey
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.decision import Decision, RouteRequest, decide
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.domain.workers.create import CreateWorker, WorkerId, WorkerTeardown
from atoll.domain.workers.dialled import (
    HostAct,
    HostLease,
    LeaseState,
    RemoveOffer,
    StartOffer,
    offer_stream,
)
from atoll.domain.workers.heartbeat import LEASE, Lease
from atoll.domain.workers.ledger import RequestRefusal, Response, WorkerRequest
from atoll.domain.workers.lifecycle import Silent, Worker
from atoll.domain.workers.record import WorkerRecord
from atoll.ports.outside.worker_host import HostDeltas, HostEntry, WorkerHost
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.task_runner import TaskRunner
from atoll.services.workers.admission import PlacementDecisions
from atoll.services.workers.desktop_deltas import DesktopDeltas
from atoll.services.workers.desktops import Desktops
from atoll.services.workers.driving import WorkerDriver
from atoll.services.workers.fallback import WorkerFallback
from atoll.services.workers.heartbeats import Heartbeats
from atoll.services.workers.intake import MOST_WAITING, HostBatch, HostIntake
from atoll.services.workers.live import LiveDeltas
from atoll.services.workers.streams import WorkerStreams
from atoll.services.workers.transitions import WorkerTransitions
from atoll.services.workers.worker_places import WorkerPlaces
from atoll.services.workers.workers import Workers
from atoll.testing import WorkerHostContract
from atoll.testing.contracts.outside.worker_host import PIECE, next_epoch
from atoll.testing.samples import NOW
from atoll.wire.words.routes import ExecutionMode, Strategy
from atoll.wire.words.workers import ErrorCode, TeardownPolicy, WorkerStatus
from tests.peers.databases.chosen import database_url
from tests.services.workers.far_host import NEVER, WALL, FarHost, host_of, item
from tests.services.workers.test_workers import TURN, Anywhere, Scene, admission_of

WANTED = CreateWorker(WorkerId("w"))
PINNED = replace(WANTED, execution_mode=ExecutionMode.DESKTOP)


class Placer:
    """Decisions, as far as lanes need them: a desktop that is there takes every worker."""

    def __init__(self, desktops: Desktops) -> None:
        self._desktops = desktops

    async def place_worker(
        self, caller: Principal, request: CreateSandbox, *, walled: bool
    ) -> Decision:
        del walled
        mode = ExecutionMode.DESKTOP
        there = await self._desktops.linked(caller.org_id, caller.id)
        found = [Candidate(DESKTOP, one.name, execution_mode=mode) for one in there]
        tried = () if request.route is None else request.route.failed
        found = [one for one in found if one.host not in [had.host for had in tried]]
        if request.route is None or request.route.constraints.execution_mode is not mode:
            found.append(Candidate("ext.memory", "here"))
        return decide(RouteRequest(Strategy.DESKTOP_PREFERRED, desktops=True), found)


@dataclass
class DesktopScene(Scene):
    """Workers with a desktop, and a host in memory for those that it does not take."""

    far: FarHost
    lanes: WorkerPlaces
    dialled: DialledHost

    async def lease(self, epoch: int = 1) -> HostLease:
        async with self.ground.store.read() as rows:
            found = await rows.host_leases.get(await self.key(), epoch)
        assert found is not None
        return found

    def replica(self) -> DialledHost:
        """The host as another replica has it."""
        ground, vault = self.ground, EnvelopeVault(lambda: [MasterKey(b"m" * 32)])
        return DialledHost(ground.store, ground.bus, vault, clock=ground.clock)

    async def offered(self) -> list[str]:
        async with self.ground.store.read() as rows:
            return [one.request_id for one in await rows.host_offers.everything()]

    async def said(self) -> list[object]:
        page = await self.streams.page(LOCAL_PERSON, "w", after=0)
        return [one.payload["params"] for one in page.events if one.event_type == "worker.event"]


@asynccontextmanager
async def serving(folder: Path, *, driven: bool = True) -> AsyncIterator[DesktopScene]:
    async with open_store(StoreSettings(database_url(folder))) as store:
        clock, vault = SystemClock(), EnvelopeVault(lambda: [MasterKey(b"m" * 32)])
        ground = Ground(store, InProcessBus(), clock, Identifiers())
        deltas = DesktopDeltas(InProcessChannels())
        desktops, intake = Desktops(ground, vault), HostIntake(ground, deltas)
        dialled = DialledHost(
            store, ground.bus, vault, clock=clock, settings=Settings(start_seconds=5, end_seconds=5)
        )
        transitions, memory, runner = WorkerTransitions(ground), InMemoryHost(clock), TaskRunner()
        placer = cast(PlacementDecisions, Placer(desktops))
        lanes = WorkerPlaces(ground, placer, runtime=memory, desktop=dialled, deltas=deltas)
        heartbeats = Heartbeats(ground, transitions)
        driver = WorkerDriver(
            *(ground, transitions),
            host=lanes,
            fallback=WorkerFallback(ground, lanes),
            heartbeats=heartbeats,
            tasks=runner,
        )
        admission = admission_of(Anywhere())
        workers = Workers(ground, transitions, driver, host=lanes, admission=admission)
        far = FarHost(ground, desktops, intake)
        await far.link()
        async with asyncio.TaskGroup() as tasks:
            acts = (runner.run, far.run, *((driver.run,) if driven else ()))
            running = [tasks.create_task(one()) for one in acts]
            await asyncio.sleep(0)
            streams = WorkerStreams(ground, LiveDeltas(ground, lanes, tasks=runner))
            yield DesktopScene(ground, memory, workers, streams, far, lanes, dialled)
            for one in running:
                one.cancel()


@pytest.fixture
async def scene(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DesktopScene]:
    async with serving(tmp_path, driven=request.cls is None) as found:
        yield found


class TestDialledHost(WorkerHostContract):
    """The host of desktops runs the suite of its port. No driver takes its entries beside that."""

    @pytest.fixture
    def host(self, scene: DesktopScene) -> WorkerPlaces:
        return scene.lanes

    @pytest.fixture
    def worker(self) -> WorkerRecord:
        worker = Worker(WANTED.worker_id)
        head = (WorkerKey("wk_a"), LOCAL_PERSON.org_id, LOCAL_PERSON.id, WANTED, worker)
        return WorkerRecord(*head, Lease(1, NOW), NOW)

    @pytest.fixture(autouse=True)
    async def stored(self, scene: DesktopScene, worker: WorkerRecord) -> None:
        self.scene = scene
        await self._store(worker)

    @pytest.fixture
    def ping(self) -> WorkerRequest:
        return WorkerRequest("r1", "ping", {})

    async def seen(self, host: WorkerHost, worker: WorkerRecord, request: WorkerRequest) -> int:
        commands = [one.command for one in self.scene.far.seen]
        while RemoveOffer() in commands:
            del commands[: commands.index(RemoveOffer()) + 1]
        return commands.count(request)

    def held(self, host: WorkerHost) -> WorkerRequest:
        self.scene.far.held.add("hang")
        return WorkerRequest("held", "hang", {})

    async def say(self, host: WorkerHost, worker: WorkerRecord, *lines: str) -> None:
        epoch, far = worker.worker.epoch, self.scene.far
        if PIECE in lines:
            caller = await host_of(self.scene.ground, far.tokens[epoch])
            pieces = HostDeltas(far.sent[epoch], (PIECE.encode(),))
            await far.intake.deliver(caller, "w", HostBatch(epoch, 1, (), [pieces]))
        await far.deliver(*(item(one) for one in lines if one != PIECE), epoch=epoch)

    async def end(self, host: WorkerHost, worker: WorkerRecord) -> None:
        ended = RequestRefusal(ErrorCode.WORKER_UNAVAILABLE, "the agent exited with 1")
        await self.scene.far.deliver(replace(item(request_id=HostAct.END), receipt=ended))

    async def reattached(self, host: WorkerHost, worker: WorkerRecord) -> WorkerRecord:
        await self._store(next_epoch(worker))
        return await super().reattached(host, worker)

    async def _store(self, worker: WorkerRecord) -> None:
        async with self.scene.ground.store.begin() as rows:
            await rows.workers.put(worker)


async def test_worker_of_a_linked_desktop_is_there_and_its_offers_go_with_their_receipts(
    scene: DesktopScene,
) -> None:
    await scene.running(WANTED)
    shown = await scene.workers.get(LOCAL_PERSON, "w")
    sandbox = shown.observed.sandbox
    assert sandbox is not None and shown.observed.route is not None
    assert (sandbox.extension, sandbox.host) == (DESKTOP, "laptop")
    assert (sandbox.isolation, (await scene.lease()).agent_id) == (WALL, "agent-1")
    got = await scene.workers.request(LOCAL_PERSON, "w", TURN, wait_ms=5000)
    assert got == Response("{}")
    await scene.far.say(1)
    await scene.heard("started", "request.received", "response", "event")
    assert await scene.offered() == []
    await scene.workers.stop(LOCAL_PERSON, "w", None)
    await scene.heard("started", "request.received", "response", "event", "stopped")
    assert [one.request_id for one in scene.far.seen] == [HostAct.START, "r1", HostAct.STOP]


async def test_place_of_a_running_worker_is_known_without_a_read(scene: DesktopScene) -> None:
    key = await scene.running(WANTED)
    async with scene.ground.store.read() as rows:
        record = await rows.workers.get(key)
    assert record is not None
    nothing: Any = None
    unread = replace(scene.ground, store=nothing)
    lanes = WorkerPlaces(unread, nothing, runtime=scene.host, desktop=scene.dialled, deltas=nothing)
    assert await lanes.request(record, TURN, wait_ms=5000) == Response("{}")


async def test_workers_of_one_desktop_have_a_place_and_an_environment_each(
    scene: DesktopScene,
) -> None:
    other = replace(WANTED, worker_id=WorkerId("v"))
    shown = {}
    for wanted in (WANTED, other):
        scene.far.sent[1] = 0  # each lease numbers its own items
        await scene.workers.create(LOCAL_PERSON, wanted)
        one = await scene.until(
            lambda shown: shown.worker.status is WorkerStatus.RUNNING, wanted.worker_id
        )
        assert one.execution_mode is ExecutionMode.DESKTOP
        assert one.workspace_ref == f"desktop:laptop/{wanted.worker_id}/workspace"
        assert one.codex_home_ref == f"desktop:laptop/{wanted.worker_id}/agent-home"
        shown[wanted.worker_id] = one.observed.sandbox
    first, second = shown.values()
    assert first is not None and second is not None
    assert first.id != second.id
    assert first.host == second.host


async def test_next_candidate_takes_a_worker_whose_desktop_could_not_start_it(
    scene: DesktopScene,
) -> None:
    """Nothing had run there, and nothing of that desktop is taken any more."""
    scene.far.refuses = lambda offer: offer.request_id == HostAct.START
    await scene.workers.create(LOCAL_PERSON, WANTED)
    await scene.far.offered(HostAct.START)
    refusal = RequestRefusal(ErrorCode.WORKER_UNAVAILABLE, "codex is not there")
    await scene.far.deliver(HostEntry(0, NEVER, request_id=HostAct.START, receipt=refusal))
    await scene.heard("started")
    shown = await scene.workers.get(LOCAL_PERSON, "w")
    assert shown.observed.sandbox is None or shown.observed.sandbox.extension != DESKTOP
    async with scene.ground.store.read() as rows:
        record = await rows.workers.get(await scene.key())
    assert record is not None and scene.host.sent(record.key) == []
    (failed,) = record.failed
    assert (failed.extension, failed.host) == (DESKTOP, "laptop")
    assert failed.reason == "its agent did not start: codex is not there"


async def test_desktop_that_never_answers_a_start_is_passed_over_and_its_late_receipt_refused(
    scene: DesktopScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene.dialled, "_settings", Settings(start_seconds=0.2))
    scene.far.refuses = lambda _: True
    await scene.workers.create(LOCAL_PERSON, WANTED)
    await scene.far.offered(HostAct.START)
    caller = await host_of(scene.ground, scene.far.tokens[1])
    await scene.heard("started")
    late = item(request_id=HostAct.START, result='{"agent_id":"a"}')
    with pytest.raises(Conflict) as error:
        await scene.far.intake.deliver(caller, "w", HostBatch(1, 1, [late]))
    assert error.value.code == "stale_lease"


async def test_start_that_is_the_requests_own_fault_burns_no_candidate(
    scene: DesktopScene,
) -> None:
    scene.far.refuses = lambda offer: offer.request_id == HostAct.START
    await scene.workers.create(LOCAL_PERSON, WANTED)
    await scene.far.offered(HostAct.START)
    refusal = RequestRefusal(ErrorCode.INVALID_REQUEST, "there is no such thread")
    await scene.far.deliver(HostEntry(0, NEVER, request_id=HostAct.START, receipt=refusal))
    await scene.heard("stopped")
    shown = await scene.workers.get(LOCAL_PERSON, "w")
    assert (shown.worker.status, shown.worker.reason) == (
        WorkerStatus.FAILED,
        "there is no such thread",
    )
    async with scene.ground.store.read() as rows:
        record = await rows.workers.get(await scene.key())
    assert record is not None and record.failed == ()


async def test_offer_is_sealed_while_it_waits(scene: DesktopScene) -> None:
    """Its token and params are in no row in the clear."""
    await scene.running(WANTED)
    scene.far.held.add("turn/start")
    secret = replace(TURN, params={"threadId": "t", "input": ["the-words-of-a-person"]})
    assert await scene.workers.request(LOCAL_PERSON, "w", secret, wait_ms=0) is None
    await scene.far.offered("r1")
    async with scene.ground.store.read() as rows:
        (offer,) = await rows.host_offers.everything()
    stored = repr((offer.sealed.body, offer.sealed.wrapped, offer, await scene.lease()))
    assert scene.far.tokens[1] not in stored and "words-of-a-person" not in stored
    await scene.far.deliver(item(request_id="r1", result="{}"))
    await scene.heard("started", "request.received", "response")
    assert await scene.offered() == []


async def test_batches_are_taken_once_and_a_gap_answers_the_number_expected(
    scene: DesktopScene,
) -> None:
    await scene.running(WANTED)
    begun = scene.far.sent[1]
    lines = [item(f'{{"method":"turn/started","params":{n}}}') for n in range(3)]
    gap = await scene.far.deliver(*lines, first=begun + 5)
    assert (gap.expected, gap.taken) == (begun + 1, 0)
    assert (await scene.far.deliver(*lines[:2])).taken == 2
    again = await scene.far.deliver(*lines, first=begun + 1)
    assert (again.expected, again.taken) == (begun + 4, 1)
    await scene.heard("started", "event", "event", "event")
    assert await scene.said() == ["0", "1", "2"]


async def test_only_the_token_of_a_lease_delivers_and_for_its_own_worker(
    scene: DesktopScene,
) -> None:
    await scene.running(WANTED)
    batch = HostBatch(1, 1, ())
    host = await host_of(scene.ground, scene.far.tokens[1])
    with pytest.raises(Forbidden):
        await scene.far.intake.deliver(LOCAL_PERSON, "w", batch)
    with pytest.raises(NotFound):
        await scene.far.intake.deliver(host, "other", batch)
    with pytest.raises(Conflict, match="epoch") as raised:
        await scene.far.intake.deliver(host, "w", replace(batch, epoch=2))
    assert raised.value.code == "stale_lease"
    with pytest.raises(Invalid):
        await scene.far.intake.deliver(host, "w", replace(batch, first=0))


async def test_host_that_returns_in_its_epoch_delivers_what_it_buffered_once_and_in_order(
    scene: DesktopScene,
) -> None:
    key = await scene.running(WANTED)
    await scene.far.say(0)
    await scene.heard("started", "event")
    await _cut_off(scene, key)
    lines = [item(f'{{"method":"turn/started","params":{n}}}') for n in range(1, 4)]
    first = scene.far.sent[1] + 1
    for _ in range(2):
        await scene.far.deliver(*lines, first=first)
    await scene.heard("started", "event", "lost", "recovered", "event", "event", "event")
    assert await scene.said() == ["0", "1", "2", "3"]
    page = await scene.streams.page(LOCAL_PERSON, "w", after=3)
    assert page.events[0].payload == {"worker_id": "w", "epoch": 1, "delivered": 3}


async def test_host_whose_worker_was_reattached_elsewhere_delivers_nothing(
    scene: DesktopScene,
) -> None:
    key = await scene.running(WANTED)
    await scene.far.say(0)
    await scene.heard("started", "event")
    await scene.far.desktops.left(LOCAL_PERSON, "laptop")
    await _cut_off(scene, key)
    await scene.workers.create(LOCAL_PERSON, WANTED)
    await scene.heard("started", "event", "lost", "started")
    shown = await scene.workers.get(LOCAL_PERSON, "w")
    assert (shown.worker.epoch, shown.observed.sandbox) == (2, None)
    for epoch in (1, 2):
        host = await host_of(scene.ground, scene.far.tokens[1])
        batch = HostBatch(epoch, scene.far.sent[1] + 1, (item('{"method":"turn/started"}'),))
        with pytest.raises(Conflict) as raised:
            await scene.far.intake.deliver(host, "w", batch)
        assert raised.value.code == "stale_lease"
    with pytest.raises(Conflict):
        await scene.far.beat()
    scene.host.say(key, '{"method":"turn/started","params":"new"}')
    await scene.heard("started", "event", "lost", "started", "event")
    assert await scene.said() == ["0", '"new"']


async def _cut_off(scene: DesktopScene, key: WorkerKey) -> None:
    """Have the lease be over, as heartbeats that do not come do after 30 seconds."""
    long_ago = scene.ground.clock.now() - LEASE
    async with scene.ground.store.begin() as rows:
        lease = await rows.host_leases.get(key, 1)
        assert lease is not None
        await rows.host_leases.put(replace(lease, heard_at=long_ago))
    await WorkerTransitions(scene.ground).apply(key, Silent("cut off"))


async def test_silent_desktop_is_no_heartbeat_and_each_delivery_is_one(
    scene: DesktopScene,
) -> None:
    await scene.running(WANTED)
    record = await _record(scene)
    after = scene.far.sent[1]
    other = scene.replica()
    assert await other.stream(record, after, wait_seconds=10) == []
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(other.stream(record, after, wait_seconds=10))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await scene.far.beat()
    assert waiting.result() == []
    await _silence(scene)
    with pytest.raises(Unavailable):
        await other.stream(record, after, wait_seconds=0)


async def _record(scene: DesktopScene) -> WorkerRecord:
    async with scene.ground.store.read() as rows:
        found = await rows.workers.get(await scene.key())
    assert found is not None
    return found


async def _silence(scene: DesktopScene) -> None:
    lease = await scene.lease()
    async with scene.ground.store.begin() as rows:
        heard = scene.ground.clock.now() - LEASE
        await rows.host_leases.put(replace(lease, heard_at=heard))


async def test_start_that_a_desktop_refuses_fails_with_its_reason(scene: DesktopScene) -> None:
    scene.far.refuses = lambda offer: offer.request_id == HostAct.START
    await scene.workers.create(LOCAL_PERSON, PINNED)
    await scene.far.offered(HostAct.START)
    refusal = RequestRefusal(ErrorCode.INTERNAL_ERROR, "no codex is installed")
    start = replace(item(request_id=HostAct.START), receipt=refusal)
    await scene.far.deliver(start)
    shown = await scene.until(lambda shown: shown.worker.status is WorkerStatus.FAILED)
    assert shown.worker.reason == "no codex is installed"


async def test_desktop_that_does_not_start_it_in_time_fails_and_is_late(
    scene: DesktopScene,
) -> None:
    scene.far.refuses = lambda _: True
    await scene.workers.create(LOCAL_PERSON, PINNED)
    shown = await scene.until(lambda shown: shown.worker.status is WorkerStatus.FAILED)
    assert "did not start it in 5 s" in str(shown.worker.reason)
    with pytest.raises(Conflict):
        await scene.far.deliver(item(request_id=HostAct.START, result="{}"))


async def test_agent_that_ended_on_its_desktop_is_lost_with_the_reason(
    scene: DesktopScene,
) -> None:
    await scene.running(WANTED)
    await scene.far.say(1)
    ended = RequestRefusal(ErrorCode.WORKER_UNAVAILABLE, "the agent exited with 1")
    await scene.far.deliver(replace(item(request_id=HostAct.END), receipt=ended))
    await scene.heard("started", "event", "lost")
    page = await scene.streams.page(LOCAL_PERSON, "w", after=2)
    assert page.events[0].payload["reason"] == "the agent exited with 1"


async def test_worker_for_a_desktop_alone_waits_for_no_other_place(scene: DesktopScene) -> None:
    await scene.running(PINNED)
    start = scene.far.seen[0].command
    assert isinstance(start, StartOffer) and not start.reattachable
    await scene.far.desktops.left(LOCAL_PERSON, "laptop")
    await _cut_off(scene, await scene.key())
    await scene.workers.create(LOCAL_PERSON, PINNED)
    shown = await scene.until(lambda shown: shown.worker.status is WorkerStatus.FAILED)
    assert "no backend" in str(shown.worker.reason)


async def test_unlinked_desktop_delivers_nothing_and_its_workers_are_lost(
    scene: DesktopScene,
) -> None:
    await scene.running(WANTED)
    await scene.far.desktops.unlink(LOCAL_PERSON, "laptop")
    await scene.heard("started", "lost")
    with pytest.raises(Conflict):
        await scene.far.say(1)
    with pytest.raises(NotFound):
        await scene.far.desktops.heard(LOCAL_PERSON, "laptop", WALL)
    assert await scene.far.desktops.list(LOCAL_PERSON) == []


async def test_desktops_are_their_persons_alone(scene: DesktopScene) -> None:
    other = replace(LOCAL_PERSON, id=PrincipalId("other"))
    assert await scene.far.desktops.list(other) == []
    assert await scene.far.desktops.linked(other.org_id, other.id) == []
    for act in (
        scene.far.desktops.heard(other, "laptop", WALL),
        scene.far.desktops.left(other, "laptop"),
        scene.far.desktops.check(other, "laptop"),
        scene.far.desktops.unlink(other, "laptop"),
    ):
        with pytest.raises(NotFound):
            await act
    with pytest.raises(Forbidden):
        nobody = replace(LOCAL_PERSON, capabilities=frozenset())
        await scene.far.desktops.link(nobody, "box")
    with pytest.raises(Invalid):
        await scene.far.desktops.link(LOCAL_PERSON, "../box")


async def test_stop_of_a_worker_whose_desktop_is_away_ends_its_lease(scene: DesktopScene) -> None:
    await scene.running(WANTED)
    await scene.far.desktops.left(LOCAL_PERSON, "laptop")
    await scene.workers.stop(LOCAL_PERSON, "w", None)
    await scene.heard("started", "stopped")
    assert (await scene.lease()).state is LeaseState.ENDED
    with pytest.raises(Conflict):
        await scene.far.say(1)


async def test_removal_leaves_what_is_on_a_desktop_that_is_away(scene: DesktopScene) -> None:
    immediate = replace(WANTED, teardown=WorkerTeardown(TeardownPolicy.IMMEDIATE))
    await scene.running(immediate)
    await scene.far.desktops.left(LOCAL_PERSON, "laptop")
    await scene.workers.stop(LOCAL_PERSON, "w", None)
    await scene.heard("started", "stopped", "torn_down")
    page = await scene.streams.page(LOCAL_PERSON, "w", after=2)
    assert page.events[0].payload["leftovers"] == ["desktop:laptop/w: that machine was not there"]


async def test_host_that_delivers_faster_than_is_taken_waits(
    scene: DesktopScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_WAITING > 1000
    await scene.running(WANTED)
    monkeypatch.setattr("atoll.services.workers.intake.MOST_WAITING", 1)
    key = await scene.key()
    await WorkerTransitions(scene.ground).apply(key, Silent("nobody takes"))
    await scene.far.say(1)
    taken = await scene.far.say(2)
    assert taken.taken in (0, 1)
    await scene.heard("started", "lost", "recovered", "event", *["event"] * taken.taken)


@pytest.mark.parametrize("steps", range(4))
async def test_follower_of_offers_ends_when_it_is_cancelled_as_news_come(
    scene: DesktopScene, steps: int
) -> None:
    """`asyncio.wait_for` of Python 3.11 would drop the cancellation."""

    async def follow() -> None:
        async for _ in scene.far.desktops.offers(LOCAL_PERSON, "laptop"):
            pass

    async with scene.ground.store.read() as rows:
        (laptop,) = await rows.desktops.of(LOCAL_PERSON.org_id, LOCAL_PERSON.id)
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        following = tasks.create_task(follow())
        await asyncio.sleep(0.1)  # it waits by now; were it late, it would end as well
        scene.ground.bus.announce((offer_stream(laptop.id),))
        for _ in range(steps):
            await asyncio.sleep(0)
        following.cancel()


async def test_host_that_floods_with_large_items_waits_too_also_after_its_stop(
    scene: DesktopScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stolen token fills neither the database nor the memory of who reads."""
    await scene.running(WANTED)
    monkeypatch.setattr("atoll.services.workers.intake.MOST_CHARACTERS", 1000)
    monkeypatch.setattr("atoll.services.workers.intake.FEW_WAITING", 1)
    await WorkerTransitions(scene.ground).apply(await scene.key(), Silent("nobody takes"))
    monkeypatch.setattr(scene.dialled, "stream", _taken_by_nobody)
    await scene.far.deliver(item(request_id=HostAct.STOP, result="{}"))
    large = item(json.dumps({"method": "turn/started", "params": "x" * 900}))
    taken = [(await scene.far.deliver(large)).taken for _ in range(4)]
    assert taken in ([1, 1, 0, 0], [1, 0, 0, 0])


async def _taken_by_nobody(*_: object, **__: object) -> None:
    raise Unavailable("busy")


async def test_token_of_one_lease_changes_nothing_of_another_worker_or_epoch(
    scene: DesktopScene,
) -> None:
    """Neither by numbers that were used, nor by receipts of what was offered to another host."""
    await scene.running(WANTED)
    other = replace(WANTED, worker_id=WorkerId("v"))
    scene.far.sent[1] = 0
    await scene.workers.create(LOCAL_PERSON, other)
    await scene.until(lambda shown: shown.worker.status is WorkerStatus.RUNNING, "v")
    stolen = await host_of(scene.ground, scene.far.first["w"])
    scene.far.held.add("turn/start")
    assert await scene.workers.request(LOCAL_PERSON, "v", TURN, wait_ms=0) is None
    forged = item(request_id="r1", result='{"forged":true}')
    with pytest.raises(NotFound):
        await scene.far.intake.deliver(stolen, "v", HostBatch(1, 2, [forged]))
    taken = await scene.far.intake.deliver(stolen, "w", HostBatch(1, 2, [forged]))
    assert taken.taken == 1
    shown = await scene.workers.get(LOCAL_PERSON, "v")
    assert shown.observed.pending.request_ids == ("r1",)
    events = await scene.streams.page(LOCAL_PERSON, "w", after=0)
    assert [one.event_type for one in events.events] == ["worker.started"]


async def test_pieces_reach_a_follower_of_their_epoch_within_bounds_and_no_other(
    scene: DesktopScene,
) -> None:
    await scene.running(WANTED)
    key = await scene.key()
    async with scene.ground.store.read() as rows:
        record = await rows.workers.get(key)
    assert record is not None
    heard: list[HostDeltas] = []
    come = asyncio.Event()

    async def follow() -> None:
        async with scene.lanes.live(record) as deltas:
            async for one in deltas:
                heard.append(one)
                come.set()

    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(follow())
        await scene.far.offered(HostAct.FOLLOW)
        caller = await host_of(scene.ground, scene.far.tokens[1])
        long, lines = b"x" * 100_000, tuple(b'{"n":%d}' % n for n in range(10_000))
        batch = HostBatch(1, 1, (), [HostDeltas(3, (long, *lines))])
        await scene.far.intake.deliver(caller, "w", batch)
        async with asyncio.timeout(10):
            while sum(len(one.lines) for one in heard) < len(lines):
                come.clear()
                await come.wait()
        with pytest.raises(Conflict):
            await scene.far.intake.deliver(caller, "w", replace(batch, epoch=2))
        following.cancel()
    assert [line for one in heard for line in one.lines] == [*lines]
    assert {one.after for one in heard} == {3} and len(heard) > 1
    assert await scene.said() == []
