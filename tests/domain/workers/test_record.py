from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId, WorkerKey
from atoll.domain.routes.health import Attempt
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.heartbeat import LEASE, Lease
from atoll.domain.workers.lifecycle import HostContact, Worker, WorkerTornDown, is_settled
from atoll.domain.workers.record import (
    WorkerRecord,
    advance,
    clear_place,
    mark_leaving,
    worker_stream,
)
from atoll.wire.words.workers import HeartbeatState, WorkerStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + LEASE
CREATED = CreateWorker(WorkerId("w"))
RUNS = Worker(CREATED.worker_id, status=WorkerStatus.RUNNING)
LOST = replace(RUNS, contact=HostContact.LOST)


def record(worker: Worker) -> WorkerRecord:
    return WorkerRecord(
        *(WorkerKey("wk_a"), PERSONAL_ORG, PrincipalId("ada"), CREATED, worker),
        *(Lease(worker.epoch, NOW), NOW),
        heartbeat=HeartbeatState.MISSING,
    )


def test_new_epoch_has_a_lease_and_a_heartbeat_of_its_own() -> None:
    after = advance(record(LOST), Worker(CREATED.worker_id, epoch=2), LATER)
    assert (after.lease, after.heartbeat) == (Lease(2, LATER), HeartbeatState.FRESH)


@pytest.mark.parametrize("before", [Worker(CREATED.worker_id), LOST])
def test_worker_that_is_served_again_has_a_new_lease(before: Worker) -> None:
    after = advance(record(before), RUNS, LATER)
    assert (after.lease, after.heartbeat) == (Lease(1, LATER), HeartbeatState.MISSING)


@pytest.mark.parametrize("worker", [RUNS, LOST, replace(RUNS, status=WorkerStatus.STOPPING)])
def test_other_transitions_leave_the_lease(worker: Worker) -> None:
    assert advance(record(RUNS), worker, LATER) == replace(record(RUNS), worker=worker)


def test_worker_leaves_a_place_and_remembers_why_until_its_next_epoch() -> None:
    attempt = Attempt("ext.a", "box", NOW, "no")
    placed = replace(
        record(Worker(CREATED.worker_id)), sandbox_id=SandboxId("sb_a"), collected=3, made_in=1
    )
    leaves = mark_leaving(placed, (attempt, replace(attempt, reason=None)))
    assert (leaves.failed, leaves.leaves, leaves.sandbox_id) == ((attempt,), True, "sb_a")
    gone = clear_place(leaves)
    assert (gone.failed, gone.leaves, gone.sandbox_id) == ((attempt,), False, None)
    assert (gone.collected, gone.made_in) == (0, 0)
    again = advance(leaves, Worker(CREATED.worker_id, epoch=2), LATER)
    assert (again.failed, again.leaves) == ((), False)


def test_worker_is_settled_once_it_is_torn_down_and_its_stream_has_its_key() -> None:
    assert not is_settled(RUNS)
    assert is_settled(replace(RUNS, torn_down=WorkerTornDown(())))
    assert worker_stream(WorkerKey("wk_a")) == "worker:wk_a"
