import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Conflict
from atoll.domain.workers.ledger import (
    LOST,
    LedgerEntry,
    Receipt,
    RequestRefusal,
    Response,
    WorkerRequest,
    admit,
    settle,
)
from atoll.wire.words.workers import ErrorCode

RECEIPTS = st.builds(Response, st.text()) | st.builds(
    RequestRefusal, st.sampled_from(ErrorCode), st.text()
)
REQUEST = WorkerRequest("r", "turn/start", {"a": 1, "b": 2})


def test_same_content_in_another_order_is_the_same_request() -> None:
    entry = admit(None, REQUEST)
    assert entry == LedgerEntry(REQUEST.digest, method=REQUEST.method)
    assert admit(entry, WorkerRequest("r", "turn/start", {"b": 2, "a": 1})) is entry


@pytest.mark.parametrize(
    "other",
    [
        WorkerRequest("r", "turn/steer", {"a": 1, "b": 2}),
        WorkerRequest("r", "turn/start", {"a": 1}),
        WorkerRequest("r", "turn/start", {"a": True, "b": 2}),
    ],
)
def test_other_content_under_an_id_is_a_conflict(other: WorkerRequest) -> None:
    with pytest.raises(Conflict) as refusal:
        admit(admit(None, REQUEST), other)
    assert refusal.value.code == "conflict"


@given(st.lists(RECEIPTS, min_size=1))
def test_first_receipt_stands_and_every_repeat_gets_it(receipts: list[Receipt]) -> None:
    entry = admit(None, REQUEST)
    for one in receipts:
        entry = settle(entry, one)
    assert admit(settle(entry, LOST), REQUEST).receipt == receipts[0]


def test_open_request_of_a_lost_runtime_is_never_resent() -> None:
    lost = settle(admit(None, REQUEST), LOST)
    assert isinstance(lost.receipt, RequestRefusal)
    assert lost.receipt.code is ErrorCode.OUTCOME_UNKNOWN
    assert not lost.receipt.retryable
    assert admit(lost, REQUEST) is lost
    assert settle(lost, Response("{}")) is lost


def test_only_what_was_not_sent_is_retryable() -> None:
    assert [code for code in ErrorCode if code.retryable] == [ErrorCode.WORKER_UNAVAILABLE]
