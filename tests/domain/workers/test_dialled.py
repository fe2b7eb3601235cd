from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.ids import DesktopId, OrgId, PrincipalId, WorkerKey
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.dialled import (
    LONGEST_REASON,
    FollowOffer,
    HoldOffer,
    HostAct,
    HostCommand,
    HostLease,
    LeaseState,
    RemoveOffer,
    ReturnOffer,
    StartOffer,
    StopOffer,
    apply_receipt,
    begin_hand_over,
    check_lease,
    delivery_stream,
    offer_binding,
    offer_stream,
    read_command,
    spell_command,
)
from atoll.domain.workers.ingest import Source
from atoll.domain.workers.ledger import Receipt, RequestRefusal, Response, WorkerRequest
from atoll.wire.words.workers import ErrorCode

KEY = WorkerKey("wk_a")
LEASE = HostLease(
    KEY,
    2,
    DesktopId("dk_a"),
    OrgId("o"),
    PrincipalId("ada"),
    WorkerId("w"),
    "mark",
    datetime(2026, 3, 1, tzinfo=UTC),
    received=4,
)
REFUSAL = RequestRefusal(ErrorCode.INTERNAL_ERROR, "no codex here")
AT_FAULT = RequestRefusal(ErrorCode.INVALID_REQUEST, "no such thread")
STATES = {one: replace(LEASE, state=one) for one in LeaseState}


@pytest.mark.parametrize(
    ("name", "command"),
    [
        (HostAct.START, StartOffer("atw_secret", reattachable=False)),
        (HostAct.STOP, StopOffer()),
        (HostAct.REMOVE, RemoveOffer()),
        (HostAct.HOLD, HoldOffer("t1")),
        (HostAct.RETURN, ReturnOffer("t1")),
        (HostAct.FOLLOW, FollowOffer()),
        ("r1", WorkerRequest("r1", "turn/start", {"n": 2**53 + 1, "text": "é"})),
    ],
)
def test_command_is_read_as_it_was_spelled(name: str, command: HostCommand) -> None:
    assert read_command(name, spell_command(command)) == command
    assert "atw_secret" not in repr(command)


def test_names_of_streams_and_bindings_are_of_one_thing() -> None:
    assert offer_stream(DesktopId("dk_a")) == "desktop:dk_a"
    assert delivery_stream(KEY) == "host:wk_a"
    assert len({offer_binding(KEY, 1, "r"), offer_binding(KEY, 2, "r")}) == 2


def test_source_expects_what_follows_the_last_item() -> None:
    assert LEASE.source == Source(2, 5)


def test_lease_holds_in_its_epoch_alone() -> None:
    assert check_lease(LEASE, 2, 2) is LEASE
    for lease, current, epoch in (
        (None, 2, 2),
        (STATES[LeaseState.ENDED], 2, 2),
        (LEASE, 3, 2),
        (LEASE, 3, 3),
        (LEASE, 2, 3),
        (LEASE, 2, 1),
    ):
        with pytest.raises(Conflict) as error:
            check_lease(lease, current, epoch)
        assert error.value.code == "stale_lease"


@pytest.mark.parametrize(
    ("result", "agent"),
    [
        ('{"agent_id":"a1"}', "a1"),
        ('{"agent_id":7}', "agent"),
        ('{"agent_id":""}', "agent"),
        ("[]", "agent"),
        ("{", "agent"),
        ("[" * 100_000, "agent"),
    ],
)
def test_start_that_is_receipted_has_an_agent(result: str, agent: str) -> None:
    after = apply_receipt(LEASE, HostAct.START, Response(result))
    assert (after.state, after.agent_id) == (LeaseState.SERVED, agent)


@pytest.mark.parametrize(
    ("before", "act", "receipt", "after", "reason"),
    [
        (LeaseState.GRANTED, HostAct.START, REFUSAL, LeaseState.REFUSED, "no codex here"),
        (LeaseState.GRANTED, HostAct.START, AT_FAULT, LeaseState.INVALID, "no such thread"),
        (LeaseState.SERVED, HostAct.START, REFUSAL, LeaseState.SERVED, None),
        (LeaseState.SERVED, HostAct.HOLD, Response("{}"), LeaseState.HELD, None),
        (LeaseState.SERVED, HostAct.HOLD, REFUSAL, LeaseState.SERVED, "no codex here"),
        (LeaseState.HELD, HostAct.HOLD, Response("{}"), LeaseState.HELD, None),
        (LeaseState.HELD, HostAct.RETURN, Response("{}"), LeaseState.SERVED, None),
        (LeaseState.HELD, HostAct.RETURN, REFUSAL, LeaseState.HELD, "no codex here"),
        (LeaseState.STOPPED, HostAct.RETURN, Response("{}"), LeaseState.STOPPED, None),
        (LeaseState.HELD, HostAct.END, REFUSAL, LeaseState.GONE, "no codex here"),
        (LeaseState.HELD, HostAct.STOP, Response("{}"), LeaseState.STOPPED, None),
        (LeaseState.STOPPED, HostAct.REMOVE, REFUSAL, LeaseState.REMOVED, "no codex here"),
        (LeaseState.SERVED, HostAct.END, REFUSAL, LeaseState.GONE, "no codex here"),
        (LeaseState.SERVED, HostAct.END, Response("{}"), LeaseState.GONE, "Its agent has ended."),
        (LeaseState.STOPPED, HostAct.END, REFUSAL, LeaseState.STOPPED, None),
        (LeaseState.SERVED, HostAct.STOP, Response("{}"), LeaseState.STOPPED, None),
        (LeaseState.REMOVED, HostAct.STOP, Response("{}"), LeaseState.REMOVED, None),
        (LeaseState.STOPPED, HostAct.REMOVE, Response("{}"), LeaseState.REMOVED, None),
        (LeaseState.SERVED, "r1", Response("{}"), LeaseState.SERVED, None),
    ],
)
def test_receipts_of_a_host_change_its_lease(
    before: LeaseState, act: str, receipt: Receipt, after: LeaseState, reason: str | None
) -> None:
    found = apply_receipt(STATES[before], act, receipt)
    assert (found.state, found.reason) == (after, reason)


def test_lease_serves_until_its_agent_has_ended() -> None:
    serving = {one for one, lease in STATES.items() if lease.serves}
    assert serving == {LeaseState.GRANTED, LeaseState.SERVED, LeaseState.HELD}


@pytest.mark.parametrize(
    ("act", "state"), [(HostAct.HOLD, LeaseState.SERVED), (HostAct.RETURN, LeaseState.HELD)]
)
def test_lease_forgets_an_earlier_failure_while_the_conversation_is_handed_over(
    act: HostAct, state: LeaseState
) -> None:
    after = begin_hand_over(replace(LEASE, reason="no codex here"), act)
    assert (after.state, after.reason) == (state, None)


def test_reason_of_a_host_is_bounded() -> None:
    long = RequestRefusal(ErrorCode.INTERNAL_ERROR, "x" * 10_000)
    assert len(apply_receipt(LEASE, HostAct.START, long).reason or "") == LONGEST_REASON
