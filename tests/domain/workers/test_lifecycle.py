from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Conflict
from atoll.domain.event_kinds.workers import WORKERS
from atoll.domain.workers.create import RETENTION_SECONDS, WorkerId, WorkerTeardown
from atoll.domain.workers.lifecycle import (
    AppendWorkerEvent,
    Died,
    DurabilityMarkers,
    HandOver,
    Holder,
    HostContact,
    Instruction,
    ProvisionWorker,
    Reattach,
    RemovalDue,
    Remove,
    Returned,
    SettleOpen,
    Silent,
    Started,
    Stimulus,
    StopAgent,
    StopWorker,
    Worker,
    WorkerBroke,
    WorkerEnded,
    WorkerTornDown,
    check_requests,
    step,
)
from atoll.wire.words.workers import TeardownPolicy, WorkerStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEW = Worker(WorkerId("w"))
UP = replace(NEW, status=WorkerStatus.RUNNING)
LOST = replace(UP, contact=HostContact.LOST, reason="cut off")
STOPPING = replace(UP, status=WorkerStatus.STOPPING)
MARKERS = DurabilityMarkers(7, "sandbox:s/workspace", None, "bundle", ("t",))
KINDS = dict(WORKERS)


def types(instructions: tuple[Instruction, ...]) -> list[object]:
    return [
        one.event_type if isinstance(one, AppendWorkerEvent) else type(one) for one in instructions
    ]


def test_start_is_told_once() -> None:
    assert step(NEW, Started(), NOW) == (
        UP,
        (AppendWorkerEvent("worker.started", {"worker_id": "w", "epoch": 1, "reattached": False}),),
    )
    assert step(UP, Started(), NOW) == (UP, ())


def test_silent_host_returns_in_its_epoch() -> None:
    lost, told = step(UP, Silent("cut off"), NOW)
    assert (lost, types(told)) == (LOST, ["worker.lost"])
    assert step(LOST, Silent("again"), NOW) == (LOST, ())
    back, told = step(LOST, Returned(1, 4), NOW)
    assert (back, types(told)) == (UP, ["worker.recovered"])
    assert step(UP, Returned(1), NOW) == (UP, ())


def test_died_runtime_settles_its_requests() -> None:
    assert types(step(UP, Died("killed"), NOW)[1]) == ["worker.lost", SettleOpen]
    assert types(step(LOST, Died("killed"), NOW)[1]) == [SettleOpen]
    assert step(STOPPING, Died("killed"), NOW) == (STOPPING, ())


def test_host_of_a_reattached_worker_has_a_stale_lease() -> None:
    again, todo = step(LOST, Reattach(), NOW)
    assert (again, todo) == (replace(NEW, epoch=2), (SettleOpen(), ProvisionWorker(2)))
    with pytest.raises(Conflict) as refusal:
        step(again, Returned(1), NOW)
    assert refusal.value.code == "stale_lease"


def test_reattach_of_a_worker_that_runs_changes_nothing() -> None:
    assert step(UP, Reattach(), NOW) == (UP, ())


def test_reattach_of_a_removed_worker_is_a_conflict() -> None:
    removed = replace(UP, status=WorkerStatus.STOPPED, torn_down=WorkerTornDown(("s",)))
    for one in (STOPPING, removed):
        with pytest.raises(Conflict):
            step(one, Reattach(), NOW)


def test_conversation_goes_to_a_person_and_back() -> None:
    held, told = step(UP, HandOver(Holder.PERSON, "t"), NOW)
    assert types(told) == ["worker.handed_over"]
    assert step(held, HandOver(Holder.PERSON, "t"), NOW) == (held, ())
    with pytest.raises(Conflict) as refusal:
        check_requests(held)
    assert refusal.value.code == "held_by_person"
    assert held.held_thread == "t"
    assert step(held, HandOver(Holder.MACHINE, "t"), NOW)[0] == UP
    stopping, _ = step(held, StopWorker(), NOW)
    stopped, _ = step(stopping, WorkerEnded(MARKERS), NOW)
    assert (stopped.holder, stopped.held_thread) == (Holder.MACHINE, None)
    with pytest.raises(Conflict):
        step(LOST, HandOver(Holder.PERSON, "t"), NOW)


@pytest.mark.parametrize(("reason", "told"), [(None, "No room."), ("enough", "enough No room.")])
def test_stop_says_which_commits_are_not_safe(reason: str | None, told: str) -> None:
    stopping, _ = step(UP, StopWorker(reason), NOW)
    ended = WorkerEnded(replace(MARKERS, unsaved="No room."))
    stopped, (_, event, *_) = step(stopping, ended, NOW)
    assert isinstance(event, AppendWorkerEvent)
    assert (stopped.reason, event.payload["reason"]) == (told, told)


def test_only_a_worker_that_runs_takes_requests() -> None:
    check_requests(UP)
    for one in (NEW, LOST, STOPPING):
        with pytest.raises(Conflict) as refusal:
            check_requests(one)
        assert refusal.value.code == "worker_unavailable"


def test_stop_of_a_retained_worker_removes_it_when_due() -> None:
    stopping, todo = step(UP, StopWorker("done"), NOW)
    assert (stopping.status, todo) == (WorkerStatus.STOPPING, (StopAgent(),))
    assert step(stopping, StopWorker(), NOW) == (stopping, ())
    stopped, told = step(stopping, WorkerEnded(MARKERS), NOW)
    assert types(told) == [SettleOpen, "worker.stopped"]
    assert (stopped.markers, stopped.reason) == (MARKERS, "done")
    assert step(stopped, StopWorker(), NOW) == (stopped, ())
    assert step(stopped, RemovalDue(), NOW) == (stopped, ())
    assert step(stopped, Reattach(), NOW)[0] == replace(NEW, epoch=2)
    late = NOW + timedelta(seconds=RETENTION_SECONDS)
    assert step(stopped, RemovalDue(), late) == (stopped, (Remove(),))
    gone, told = step(stopped, WorkerTornDown(("s",), ("l",)), late)
    assert types(told) == ["worker.torn_down"]
    assert step(gone, WorkerTornDown(("other",)), late) == (gone, ())


def test_failed_start_of_an_immediate_worker_removes_it_at_once() -> None:
    immediate = replace(NEW, teardown=WorkerTeardown(TeardownPolicy.IMMEDIATE))
    failed, todo = step(immediate, WorkerBroke("no backend"), NOW)
    assert (failed.status, failed.reason) == (WorkerStatus.FAILED, "no backend")
    assert types(todo) == [SettleOpen, "worker.stopped", Remove]
    assert step(UP, WorkerTornDown(()), NOW) == (UP, ())


STIMULI = st.sampled_from(
    [
        Started(),
        WorkerBroke("r"),
        Silent("r"),
        Died("r"),
        Returned(1),
        Returned(2),
        Reattach(),
        HandOver(Holder.PERSON, "t"),
        HandOver(Holder.MACHINE, "t"),
        StopWorker(),
        WorkerEnded(MARKERS),
        RemovalDue(),
        WorkerTornDown(("s",)),
    ]
)


@given(st.lists(STIMULI, max_size=30), st.sampled_from(TeardownPolicy))
def test_any_life_tells_events_that_fit_their_kinds(
    stimuli: list[Stimulus], policy: TeardownPolicy
) -> None:
    worker, told = replace(NEW, teardown=WorkerTeardown(policy)), list[str]()
    for one in stimuli:
        before = worker
        try:
            worker, todo = step(worker, one, NOW)
        except Conflict:
            continue
        assert worker.epoch >= before.epoch
        assert before.torn_down is None or (worker, todo) == (before, ())
        for act in todo:
            if isinstance(act, AppendWorkerEvent):
                kind = KINDS[act.event_type]
                assert kind.fields <= act.payload.keys() <= kind.fields | kind.optional
                told.append(act.event_type)
    assert told.count("worker.torn_down") <= 1
    assert told.count("worker.recovered") <= told.count("worker.lost")
