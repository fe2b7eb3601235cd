"""A host that is cut off from the control plane while its worker is reattached elsewhere."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Conflict
from atoll.domain.workers.heartbeat import LEASE, Lease, heartbeat_state, must_pause, renew
from atoll.domain.workers.ingest import Batch, Source, take_batch
from atoll.domain.workers.lifecycle import Reattach, Returned, Silent, Worker, step
from atoll.domain.workers.record import advance
from atoll.wire.words.workers import HeartbeatState, WorkerStatus
from tests.domain.workers.test_record import CREATED, NOW, record

SECOND = timedelta(seconds=1)


@given(
    sent_before=st.timedeltas(timedelta(), 10 * SECOND),
    lost_after=st.timedeltas(LEASE, 10 * LEASE),
    items=st.integers(1, 100),
)
def test_host_that_returns_after_a_reattachment_had_paused_and_delivers_nothing(
    sent_before: timedelta, lost_after: timedelta, items: int
) -> None:
    """`sent_before`: its last heartbeat was that long under way."""
    lost_at = NOW + lost_after
    cut_off = record(Worker(CREATED.worker_id, status=WorkerStatus.RUNNING))
    assert heartbeat_state(cut_off.worker.status, cut_off.lease, lost_at) is HeartbeatState.MISSING
    assert must_pause(lost_at - (NOW - sent_before), reattachable=True)
    lost, _ = step(cut_off.worker, Silent("cut off"), lost_at)
    begun, _ = step(lost, Reattach(), lost_at)
    elsewhere = advance(replace(cut_off, worker=lost), begun, lost_at)
    assert elsewhere.lease == Lease(2, lost_at)
    for act in (
        lambda: renew(elsewhere.lease, 1, lost_at),
        lambda: take_batch(Source(elsewhere.worker.epoch), Batch(1, 1, items)),
        lambda: step(elsewhere.worker, Returned(1, items), lost_at),
    ):
        with pytest.raises(Conflict) as refusal:
            act()
        assert refusal.value.code == "stale_lease"
