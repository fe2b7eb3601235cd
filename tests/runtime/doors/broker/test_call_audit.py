"""What a flood of calls leaves in the audit: a bounded number of records, and each byte counted."""

from collections.abc import Mapping

from atoll.domain.broker.audit_budget import BURST
from atoll.domain.broker.price import Usage
from atoll.runtime.doors.broker.call_audit import BrokerCall, CallAudit

CALLS = 5000
COUNTED = ("bytes_in", "bytes_out", "tokens_in", "tokens_out", "cost_micros")


def call() -> BrokerCall:
    usage = Usage("gpt-5-mini", 11, 7)
    return BrokerCall(
        "POST", "openai", step="pass", bytes_in=3, bytes_out=5, usage=usage, cost_micros=2
    )


def test_ledger_in_a_flood_writes_a_burst_and_sums_the_rest_into_the_next() -> None:
    now = 100.0
    written: list[Mapping[str, object]] = []
    ledger = CallAudit(lambda _kind, said: written.append(said), lambda: now)
    for _ in range(CALLS):
        ledger.record(call())
    assert len(written) == BURST
    now += 1.0
    ledger.record(call())
    ledger.record(call())
    assert len(written) == BURST + 1
    assert written[-1]["unrecorded"] == CALLS - BURST
    now += 1.0
    ledger.record(call())
    assert written[-1]["unrecorded"] == 1
    totals = [
        sum(
            int(str(one.get(name, 0))) + int(str(one.get(f"unrecorded_{name}", 0)))
            for one in written
        )
        for name in COUNTED
    ]
    assert totals == [each * (CALLS + 3) for each in (3, 5, 11, 7, 2)]


def test_ledger_tells_what_it_counted_when_no_call_follows() -> None:
    now = 100.0
    written: list[Mapping[str, object]] = []
    ledger = CallAudit(lambda _kind, said: written.append(said), lambda: now)
    for _ in range(BURST + 2):
        ledger.record(call())
    ledger.settle()
    assert len(written) == BURST
    now += 1.0
    ledger.settle()
    ledger.settle()
    assert len(written) == BURST + 1
    assert written[-1]["unrecorded"] == 2
    assert written[-1]["unrecorded_cost_micros"] == 4
    ledger.record(call())
    ledger.settle(last=True)
    assert written[-1].get("unrecorded") == 1
    ledger.settle(last=True)
    assert len(written) == BURST + 2


def test_refused_calls_cost_those_that_passed_no_budget() -> None:
    written: list[Mapping[str, object]] = []
    ledger = CallAudit(lambda _kind, said: written.append(said), lambda: 100.0)
    for _ in range(CALLS):
        ledger.record(BrokerCall("GET", "openai", step="judge", outcome="not_allowed"))
    ledger.record(call())
    assert len(written) == CALLS + 1
    assert (written[-1]["step"], written[-1].get("unrecorded")) == ("pass", None)
