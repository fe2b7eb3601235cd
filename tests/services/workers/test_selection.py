"""Workers over routes: the candidate that is chosen, the next one when the agent does not start
there, losses as health, and what the snapshot and `worker.started` say of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from google.protobuf import json_format

from atoll.adapters.extensions.in_memory import FailurePoint, InMemory
from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, NotFound, Unavailable
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.ids import PrincipalId, WorkerKey
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.routes.health import Health
from atoll.domain.routes.policy import Constraints
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest
from atoll.domain.workers.create import CreateWorker, WorkerId, WorkerTeardown
from atoll.domain.workers.lifecycle import Died, Silent
from atoll.domain.workers.record import WorkerEvent, WorkerRecord
from atoll.domain.workers.selection import Selection
from atoll.domain.workers.snapshot import WorkerSnapshot
from atoll.ports import Capabilities
from atoll.ports.outside.worker_host import HostEntry
from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.services.task_runner import TaskRunner
from atoll.services.workers.admission import WorkerAdmission
from atoll.services.workers.driving import WorkerDriver
from atoll.services.workers.fallback import WorkerFallback
from atoll.services.workers.heartbeats import Heartbeats
from atoll.services.workers.runtime_host import RuntimeHost
from atoll.services.workers.streams import MAX_PAGE
from atoll.services.workers.transitions import WorkerTransitions
from atoll.services.workers.workers import Workers
from atoll.surfaces.http.workers.views import event_view
from atoll.testing.fakes.workspaces import FakeWorkspaces
from atoll.wire.words.routes import Breaker, ExecutionMode, Strategy
from atoll.wire.words.sandboxes import State
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.words.workers import TeardownPolicy, WorkerStatus
from tests.services.routes.test_routes import EXPLICIT, routed, routes
from tests.services.scene import Scene, scene

WANTED = CreateWorker(WorkerId("w"), profile="routed")


class PartHost(RuntimeHost):
    """Real sandboxes, and agents that start where `failing` does not name their backend."""

    def __init__(self, s: Scene) -> None:
        super().__init__(s.ground, s.sandboxes, cast(Any, None), FakeWorkspaces(), access=s.access)
        self._scene = s
        self.failing: dict[str, AtollError] = {}
        self.standing: str = ""

    async def start_agent(self, worker: WorkerRecord) -> str:
        sandbox = await self._scene.sandboxes.get(LOCAL_PERSON, worker.sandbox_id or "")
        if sandbox.profile.extension in self.failing:
            raise self.failing[sandbox.profile.extension]
        return "agent"

    async def stream(
        self, worker: WorkerRecord, after: int, *, wait_seconds: int
    ) -> Sequence[HostEntry]:
        if wait_seconds:
            await asyncio.Event().wait()
        return ()

    async def lost_reason(self, worker: WorkerRecord) -> str | None:
        return None

    async def quiet(self, worker: WorkerRecord) -> None:
        del worker

    async def teardown(self, worker: WorkerRecord) -> Any:
        if self.standing:
            raise Unavailable(self.standing)
        return await super().teardown(worker)


@dataclass
class Placed:
    """Workers over routes with three backends: in memory, a second one, and a vendor's."""

    s: Scene
    host: PartHost
    workers: Workers
    transitions: WorkerTransitions
    driver: WorkerDriver
    second: InMemory = field(default_factory=InMemory)
    vendor: InMemory = field(default_factory=InMemory)

    async def until(self, status: WorkerStatus, name: str = "w") -> WorkerSnapshot:
        with self.s.bus.listen() as listener:
            async with asyncio.timeout(20):
                while (shown := await self.workers.get(LOCAL_PERSON, name)).worker.status != status:
                    assert shown.worker.status is not WorkerStatus.FAILED, shown.worker.reason
                    await listener.wait()
        return shown

    async def started(self, wanted: CreateWorker = WANTED) -> WorkerSnapshot:
        await self.workers.create(LOCAL_PERSON, wanted)
        return await self.until(WorkerStatus.RUNNING, wanted.worker_id)

    async def key(self, name: str = "w") -> WorkerKey:
        async with self.s.store.read() as rows:
            found = await rows.workers.find(LOCAL_PERSON.org_id, LOCAL_PERSON.id, WorkerId(name))
        assert found is not None
        return found.key

    async def told(self, event_type: str) -> WorkerEvent:
        key = await self.key()
        async with self.s.store.read() as rows:
            events = await rows.worker_events.page(key, 0, MAX_PAGE)
        (event,) = (one for one in events if one.event_type == event_type)
        return event

    async def health(self, extension: str) -> Health:
        found = await routes(self.s).health()
        return next(one.health for one in found if one.extension == extension)


@asynccontextmanager
async def another(s: Scene) -> AsyncIterator[Placed]:
    """A control plane's workers over sandboxes that are there."""
    transitions, host, runner = WorkerTransitions(s.ground), PartHost(s), TaskRunner()
    beats = Heartbeats(s.ground, transitions)
    driver = WorkerDriver(
        *(s.ground, transitions),
        host=host,
        fallback=WorkerFallback(s.ground, host),
        heartbeats=beats,
        tasks=runner,
    )
    admission = WorkerAdmission(
        s.within.admission, s.sandboxes, s.layers, access=s.access, checks=s.within.checks
    )
    workers = Workers(s.ground, transitions, driver, host=host, admission=admission)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(runner.run())
        await asyncio.sleep(0)
        yield Placed(s, host, workers, transitions, driver)
        running.cancel()


@asynccontextmanager
async def placed() -> AsyncIterator[Placed]:
    async with routed() as (s, second, vendor):
        s.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
        async with another(s) as made:
            yield replace(made, second=second, vendor=vendor)


async def test_started_event_and_snapshot_say_where_and_why() -> None:
    """Of the backends that `allow` names, and of the one that is not there."""
    async with placed() as p:
        allowed = Selection(("ext.second", "ext.vendor", "vendro"))
        shown = await p.started(replace(WANTED, selection=allowed))
        observed = shown.observed
        assert observed.sandbox is not None and observed.sandbox.extension == "ext.second"
        assert observed.route is not None
        reasons = {one.candidate.extension: one.reasons for one in observed.route.decision.verdicts}
        assert reasons["ext.in-memory"] == ("the request does not allow it",)
        frame = event_view("w", await p.told("worker.started"))
        parsed = json_format.ParseDict(cast(Any, frame), events_pb2.WorkerEvent())
        started = parsed.payload.started
        assert (started.extension, started.agent, started.epoch) == ("ext.second", "codex", 1)
        assert (started.reattached, started.sandbox.id) == (False, observed.sandbox.id)
        told = {one.placement.extension: list(one.reasons) for one in started.route.candidates}
        assert told["ext.in-memory"] == ["the request does not allow it"]
        assert "this Atoll does not have it" in told["ext.vendro"][-1]


async def test_worker_that_names_what_is_not_there_is_refused_and_not_stored() -> None:
    async with placed() as p:
        missing = NotFound("it was not uploaded", field="repos[0].key")
        p.s.workspaces.failing["uploads"] = missing
        local = (RepoRequest("local/x", key="0" * 24),)
        box = await p.s.ready()
        there = replace(WANTED, profile=None, workspace_ref=f"sandbox:{box.id}/workspace")
        await p.s.sandboxes.destroy(LOCAL_PERSON, box.id)
        await p.s.sandboxes.wait(LOCAL_PERSON, box.id, settled=True)
        wrong: tuple[tuple[CreateWorker, str], ...] = (
            (replace(WANTED, agent="gemini"), "agent"),
            (replace(WANTED, repos=local), "repos[0].key"),
            (there, "workspace_ref"),
        )
        for wanted, field in wrong:
            with pytest.raises(AtollError) as refused:
                await p.workers.create(LOCAL_PERSON, wanted)
            assert refused.value.field == field
            with pytest.raises(NotFound):
                await p.workers.get(LOCAL_PERSON, "w")


@pytest.mark.parametrize("error", [Failed("codex ended at once"), Unavailable("no answer")])
async def test_next_candidate_tries_where_the_agent_does_not_start(error: AtollError) -> None:
    async with placed() as p:
        p.host.failing["ext.in-memory"] = error
        shown = await p.started()
        observed = shown.observed
        assert observed.sandbox is not None and observed.sandbox.extension == "ext.second"
        # Never two walls: the first one is gone.
        (gone,) = (await p.s.sandboxes.list(LOCAL_PERSON, states=(State.DESTROYED,))).sandboxes
        assert gone.profile.extension == "ext.in-memory"
        assert not p.s.extension.kept(gone.id)
        assert observed.route is not None
        assert [(one.extension, one.reason) for one in observed.route.attempts] == [
            ("ext.in-memory", f"its agent did not start: {error.message}"),
            ("ext.second", None),
        ]
        health = await p.health("ext.in-memory")
        assert (health.attempts, health.success) == (2, 0.5)
        started = await p.told("worker.started")
        route = cast(Any, started.payload["route"])
        assert [one["reason"] for one in route["attempts"]] == [
            f"its agent did not start: {error.message}"
        ]
        assert started.payload["reattached"] is False


async def test_start_that_fails_everywhere_ends_with_the_last_reason_and_one_sandbox() -> None:
    async with placed() as p:
        for name in ("ext.in-memory", "ext.second", "ext.vendor"):
            p.host.failing[name] = Failed(f"not on {name}")
        await p.workers.create(LOCAL_PERSON, WANTED)
        shown = await p.until(WorkerStatus.FAILED)
        assert shown.worker.reason == "not on ext.vendor"
        assert shown.observed.route is not None
        tried = [one.extension for one in shown.observed.route.attempts if one.reason]
        assert tried == ["ext.in-memory", "ext.second", "ext.vendor", "ext.vendor"]
        there = (await p.s.sandboxes.list(LOCAL_PERSON)).sandboxes
        assert [one.state for one in there if one.state is not State.DESTROYED] == [State.READY]


async def test_named_backend_is_never_left_for_another() -> None:
    async with placed() as p:
        p.host.failing["ext.second"] = Failed("no")
        await p.workers.create(LOCAL_PERSON, replace(WANTED, backend="ext.second"))
        shown = await p.until(WorkerStatus.FAILED)
        assert shown.worker.reason == "no"
        assert not p.s.extension.provisioned and not p.vendor.provisioned


async def test_fault_of_the_request_burns_no_candidate() -> None:
    async with placed() as p:
        p.host.failing["ext.in-memory"] = Invalid("no such conversation", field="thread_id")
        await p.workers.create(LOCAL_PERSON, WANTED)
        shown = await p.until(WorkerStatus.FAILED)
        assert shown.worker.reason == "no such conversation"
        assert not p.second.provisioned
        assert (await p.health("ext.in-memory")).success == 1.0


async def test_nothing_is_tried_elsewhere_while_the_first_may_still_stand() -> None:
    async with placed() as p:
        p.host.failing["ext.in-memory"] = Failed("no")
        p.host.standing = "the vendor does not answer"
        await p.workers.create(LOCAL_PERSON, WANTED)
        shown = await p.until(WorkerStatus.FAILED)
        assert shown.worker.reason == (
            "its agent did not start: no It was tried nowhere else, as this may still stand: "
            "the vendor does not answer"
        )
        assert not p.second.provisioned


async def test_reattached_worker_stays_where_its_files_are() -> None:
    async with placed() as p:
        await p.started(replace(WANTED, teardown=WorkerTeardown(TeardownPolicy.RETAIN, 3600)))
        await p.workers.stop(LOCAL_PERSON, "w", None)
        await p.until(WorkerStatus.STOPPED)
        p.host.failing["ext.in-memory"] = Failed("no")
        await p.workers.create(LOCAL_PERSON, WANTED)
        shown = await p.until(WorkerStatus.FAILED)
        assert shown.worker.reason == "no"
        assert not p.second.provisioned


async def test_start_goes_on_where_a_control_plane_was_killed_between_two_candidates() -> None:
    """It had stored that the agent did not start, and had torn nothing down."""
    async with placed() as p:
        p.host.failing["ext.in-memory"] = Failed("no")
        killed = asyncio.Event()

        async def never(_worker: WorkerRecord) -> None:
            killed.set()
            await asyncio.Event().wait()

        p.host.teardown = never  # type: ignore[method-assign, assignment]
        await p.workers.create(LOCAL_PERSON, WANTED)
        await killed.wait()
        record = await _record(p, "w")
        assert record.leaves and record.sandbox_id is not None
        async with another(p.s) as restarted:
            restarted.driver.begin(record.key)
            shown = await restarted.until(WorkerStatus.RUNNING)
            assert shown.observed.sandbox is not None
            assert shown.observed.sandbox.extension == "ext.second"
            gone = await p.s.sandboxes.get(LOCAL_PERSON, record.sandbox_id)
            assert gone.state is State.DESTROYED


async def _record(p: Placed, name: str) -> WorkerRecord:
    async with p.s.store.read() as rows:
        found = await rows.workers.get(await p.key(name))
    assert found is not None
    return found


async def test_losses_of_workers_open_the_breaker_of_their_place() -> None:
    async with placed() as p:
        for n in range(5):
            await p.started(replace(WANTED, worker_id=WorkerId(f"w{n}")))
        for n in range(5):
            await p.transitions.apply(await p.key(f"w{n}"), Silent("no heartbeat"))
            # The same loss, once more.
            await p.transitions.apply(await p.key(f"w{n}"), Silent("no heartbeat"))
        health = await p.health("ext.in-memory")
        assert (health.attempts, health.success, health.breaker) == (10, 0.5, Breaker.OPEN)
        shown = await p.started(replace(WANTED, worker_id=WorkerId("next")))
        assert shown.observed.sandbox is not None
        assert shown.observed.sandbox.extension == "ext.second"


async def test_agent_that_ended_or_a_sandbox_that_was_stopped_is_no_failure_of_its_backend() -> (
    None
):
    async with placed() as p:
        await p.started()
        await p.transitions.apply(await p.key(), Died("Its agent has ended."))
        assert (await p.health("ext.in-memory")).success == 1.0


REFUSED: list[tuple[CreateWorker, type[AtollError], str, str]] = [
    (replace(WANTED, backend="openagents_gcp"), Conflict, "no_route", "backend"),
    (replace(WANTED, backend="cloudflare_sandbox"), Conflict, "no_route", "backend"),
    (replace(WANTED, backend="desktop"), Conflict, "no_route", "backend"),
    (replace(WANTED, selection=Selection(("docker",))), Conflict, "no_route", "selection"),
    (
        replace(WANTED, selection=Selection(constraints=Constraints(region="mars"))),
        *(Conflict, "no_route", "selection"),
    ),
    (
        replace(WANTED, selection=Selection(constraints=Constraints(max_ready_ms=1))),
        *(Conflict, "no_route", "selection"),
    ),
    (
        replace(WANTED, selection=Selection(constraints=Constraints(min_success=0.5))),
        *(Conflict, "no_route", "selection"),
    ),
    (
        replace(WANTED, selection=Selection(constraints=Constraints(HourlyCost(1)))),
        *(Conflict, "no_route", "selection"),
    ),
    (
        replace(
            WANTED,
            selection=Selection(
                ("ext.in-memory",), constraints=Constraints(None, IsolationLevel.MICROVM)
            ),
        ),
        *(Conflict, "no_route", "selection"),
    ),
    (
        replace(WANTED, profile="second", selection=Selection(strategy=Strategy.LOWEST_COST)),
        *(Invalid, "invalid", "selection.strategy"),
    ),
    (replace(WANTED, profile="nowhere"), NotFound, "not_found", "profile"),
]


@pytest.mark.parametrize(("wanted", "error", "code", "field"), REFUSED)
async def test_worker_that_no_backend_takes_is_refused_and_not_stored(
    wanted: CreateWorker, error: type[AtollError], code: str, field: str
) -> None:
    """Its `max_ready_ms`, `min_success` or `require_isolation` is one that nobody keeps."""
    async with placed() as p:
        with pytest.raises(error) as found:
            await p.workers.create(LOCAL_PERSON, wanted)
        assert (found.value.code, found.value.field or "") == (code, field)
        with pytest.raises(NotFound):
            await p.workers.get(LOCAL_PERSON, "w")


async def test_sandbox_to_move_into_is_looked_for_before_the_worker_is_stored() -> None:
    """A missing one and somebody else's answer alike."""
    async with placed() as p:
        foreign = await p.s.sandboxes.create(
            replace(LOCAL_PERSON, id=PrincipalId("other")), CreateSandbox("routed")
        )
        for there in (foreign.id, "sb_nowhere"):
            moved = CreateWorker(WorkerId("w"), workspace_ref=f"sandbox:{there}/workspace")
            with pytest.raises(NotFound, match=f"^You have no sandbox {there}.$") as found:
                await p.workers.create(LOCAL_PERSON, moved)
            assert found.value.field == "workspace_ref"
            with pytest.raises(NotFound):
                await p.workers.get(LOCAL_PERSON, "w")
        mine = await p.s.sandboxes.create(LOCAL_PERSON, CreateSandbox("routed"))
        moved = CreateWorker(WorkerId("w"), workspace_ref=f"sandbox:{mine.id}/workspace")
        shown = await p.started(moved)
        assert shown.observed.sandbox is not None
        assert shown.observed.sandbox.id == mine.id


async def test_snapshot_names_the_place_of_the_files_while_they_are_there() -> None:
    async with placed() as p:
        shown, _ = await p.workers.create(LOCAL_PERSON, WANTED)
        assert (shown.execution_mode, shown.workspace_ref, shown.codex_home_ref) == (None,) * 3
        shown = await p.until(WorkerStatus.RUNNING)
        assert shown.observed.sandbox is not None
        place = f"sandbox:{shown.observed.sandbox.id}"
        refs = (f"{place}/workspace", f"{place}/agent-home")
        assert (shown.workspace_ref, shown.codex_home_ref) == refs
        assert shown.execution_mode is ExecutionMode.SANDBOX
        await p.workers.stop(LOCAL_PERSON, "w", None)
        shown = await p.until(WorkerStatus.STOPPED)
        assert (shown.workspace_ref, shown.codex_home_ref) == refs
        await p.s.sandboxes.destroy(LOCAL_PERSON, place.removeprefix("sandbox:"))
        await p.s.sandboxes.wait(LOCAL_PERSON, place.removeprefix("sandbox:"), settled=True)
        shown = await p.workers.get(LOCAL_PERSON, "w")
        assert (shown.workspace_ref, shown.codex_home_ref) == (None, None)
        assert shown.execution_mode is ExecutionMode.SANDBOX


async def test_sandbox_holds_one_worker_at_a_time() -> None:
    async with placed() as p:
        first = await p.started()
        assert first.observed.sandbox is not None
        there = first.observed.sandbox.id
        second = CreateWorker(WorkerId("second"), workspace_ref=f"sandbox:{there}/workspace")
        with pytest.raises(Conflict, match="has the worker w, and holds one at a time") as found:
            await p.workers.create(LOCAL_PERSON, second)
        assert found.value.field == "workspace_ref"
        with pytest.raises(NotFound):
            await p.workers.get(LOCAL_PERSON, "second")
        await p.workers.stop(LOCAL_PERSON, "w", None)
        await p.until(WorkerStatus.STOPPED)
        await p.started(second)
        # The one that was stopped does not come back into it, nor is it removed with it.
        with pytest.raises(Conflict, match="has the worker second"):
            await p.workers.create(LOCAL_PERSON, WANTED)
        async with p.s.store.read() as rows:
            stopped = await rows.workers.find(LOCAL_PERSON.org_id, LOCAL_PERSON.id, WorkerId("w"))
        assert stopped is not None
        left = await p.host.teardown(stopped)
        assert left.leftovers == (f"sandbox:{there}: the worker second is in it",)
        assert (await p.workers.get(LOCAL_PERSON, "second")).worker.status is WorkerStatus.RUNNING


async def test_cheapest_that_keeps_the_limits_is_chosen() -> None:
    """By `strategy`, within `region`, and for an `amount` of a `currency`."""
    async with placed() as p:
        limits = Constraints(HourlyCost(300_000), region="us")
        wanted = replace(WANTED, selection=Selection((), Strategy.LOWEST_COST, limits))
        shown = await p.started(wanted)
        assert shown.observed.sandbox is not None
        assert (shown.observed.sandbox.extension, shown.observed.sandbox.region) == (
            *("ext.vendor", "us-1"),
        )


async def test_open_network_is_taken_only_where_the_create_accepts_it() -> None:
    """By the field `selection.accept_open_network`."""
    able = Capabilities(IsolationLevel.NONE, closes_network=False)
    async with scene(others=(InMemory(called="ext.second", able=able),)) as s:
        s.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
        await s.profiles.save(LOCAL_PERSON, "second", EXPLICIT)
        wanted = replace(WANTED, profile="second")
        async with another(s) as p:
            with pytest.raises(Conflict, match="it cannot close its network"):
                await p.workers.create(LOCAL_PERSON, wanted)
            shown = await p.started(replace(wanted, selection=Selection(accept_open_network=True)))
            assert shown.observed.sandbox is not None
            assert shown.observed.sandbox.extension == "ext.second"


async def test_candidate_whose_wall_fails_is_left_for_the_next_one_too() -> None:
    async with placed() as p:
        p.s.extension.fail(FailurePoint.PROVISION, Failed("no power"))
        p.host.failing["ext.second"] = Failed("no codex")
        shown = await p.started()
        assert shown.observed.sandbox is not None
        assert shown.observed.sandbox.extension == "ext.vendor"
