from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Conflict
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, WorkerKey
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.workers.create import AGENT_HOME, CreateWorker, WorkerId
from atoll.domain.workers.heartbeat import (
    INTERVAL,
    LEASE,
    STALE_AFTER,
    Lease,
    heartbeat_state,
    must_pause,
    renew,
)
from atoll.domain.workers.lifecycle import Worker, WorkerTornDown
from atoll.domain.workers.record import WorkerRecord
from atoll.domain.workers.snapshot import WorkerObservation, WorkerSandbox, snapshot
from atoll.wire.words.workers import HeartbeatState, WorkerStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MOMENT = timedelta(milliseconds=1)
LEASED = Lease(1, NOW)


@pytest.mark.parametrize(
    ("age", "state"),
    [
        (-INTERVAL, HeartbeatState.FRESH),
        (STALE_AFTER - MOMENT, HeartbeatState.FRESH),
        (STALE_AFTER, HeartbeatState.STALE),
        (LEASE - MOMENT, HeartbeatState.STALE),
        (LEASE, HeartbeatState.MISSING),
    ],
)
def test_state_follows_from_the_age(age: timedelta, state: HeartbeatState) -> None:
    assert heartbeat_state(WorkerStatus.RUNNING, LEASED, NOW + age) is state


def test_worker_that_starts_or_has_ended_owes_no_heartbeat() -> None:
    late = NOW + 9 * LEASE
    assert heartbeat_state(WorkerStatus.STARTING, LEASED, late) is HeartbeatState.FRESH
    assert heartbeat_state(WorkerStatus.STOPPED, LEASED, late) is HeartbeatState.STOPPED
    assert heartbeat_state(WorkerStatus.FAILED, LEASED, late) is HeartbeatState.FAILED


def test_renewal_needs_the_epoch_and_never_goes_back() -> None:
    assert renew(LEASED, 1, NOW + INTERVAL) == Lease(1, NOW + INTERVAL)
    assert renew(LEASED, 1, NOW - INTERVAL) == LEASED
    with pytest.raises(Conflict) as refusal:
        renew(LEASED, 2, NOW)
    assert refusal.value.code == "stale_lease"


@given(st.timedeltas(timedelta(), 3 * LEASE), st.timedeltas(timedelta(), INTERVAL))
def test_host_has_paused_before_its_worker_is_lost(age: timedelta, travel: timedelta) -> None:
    # The host counts from when it sent the heartbeat, the server from when it arrived.
    lost = heartbeat_state(WorkerStatus.RUNNING, LEASED, NOW + age) is HeartbeatState.MISSING
    assert not lost or must_pause(age + travel, reattachable=True)
    assert not must_pause(age + travel, reattachable=False)


def test_snapshot_tells_the_heartbeat_in_milliseconds() -> None:
    created, owner = CreateWorker(WorkerId("w")), PrincipalId("ann")
    worker = Worker(WorkerId("w"), status=WorkerStatus.RUNNING)
    key, org = WorkerKey("wk_1"), PERSONAL_ORG
    record = WorkerRecord(key, org, owner, created, worker, LEASED, NOW)
    shown = snapshot(record, WorkerObservation(), now=NOW + STALE_AFTER)
    assert (shown.heartbeat_state, shown.heartbeat_age_ms) == ("stale", 20_000)
    assert (shown.worker, shown.heartbeat_stale_after_ms) == (worker, 20_000)
    assert (shown.created, shown.observed, shown.created_at) == (created, WorkerObservation(), NOW)


def test_host_pauses_after_two_missed_unless_its_worker_stays() -> None:
    assert must_pause(STALE_AFTER, reattachable=True)
    assert not must_pause(STALE_AFTER - MOMENT, reattachable=True)
    assert not must_pause(STALE_AFTER, reattachable=False)


def test_snapshot_names_the_place_that_a_worker_has_or_asks_for() -> None:
    created = CreateWorker(WorkerId("w"), workspace_ref="sandbox:sb_1/workspace")
    worker = Worker(WorkerId("w"), status=WorkerStatus.RUNNING)
    key, org, owner = WorkerKey("wk_1"), PERSONAL_ORG, PrincipalId("ann")
    record = WorkerRecord(key, org, owner, created, worker, LEASED, NOW)
    before = snapshot(record, WorkerObservation(), now=NOW)
    assert (before.execution_mode, before.workspace_ref) == ("sandbox", "sandbox:sb_1/workspace")
    assert before.codex_home_ref is None
    place = WorkerSandbox("sb_2", "ext.docker", None, None, "box", "sandbox:sb_2")
    placed = snapshot(record, WorkerObservation(sandbox=place), now=NOW)
    assert placed.execution_mode == "sandbox"
    assert placed.workspace_ref == "sandbox:sb_2/workspace"
    assert placed.codex_home_ref == f"sandbox:sb_2/{AGENT_HOME}"
    on_desktop = replace(place, extension=DESKTOP, ref=None)
    own = snapshot(record, WorkerObservation(sandbox=on_desktop), now=NOW)
    assert (own.execution_mode, own.workspace_ref) == ("desktop", None)
    ended = replace(record, worker=replace(worker, torn_down=WorkerTornDown(())))
    assert snapshot(ended, WorkerObservation(), now=NOW).workspace_ref is None
