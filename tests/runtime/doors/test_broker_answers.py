"""Answers alike are judged once, and each comes in with its own values, none of them a key."""

import pytest

from atoll.domain.broker.passage import IncomingRequest, Passage, Refusal, judge
from atoll.domain.broker.provider import OPENAI, Upstream
from atoll.runtime.doors.broker.response import (
    KEPT_PLAN_BYTES,
    KEPT_PLANS,
    ResponseHead,
    ResponsePlan,
    ResponsePlans,
)
from tests.peers.broker import KEY
from tests.peers.raw_upstream import attacked, closing, say

MODELS = b"GET /broker/openai/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
PASSAGE = judge(
    Upstream(OPENAI, "https://a.example", KEY), IncomingRequest("POST", "/v1/responses")
)
assert isinstance(PASSAGE, Passage)


def told(*headers: tuple[bytes, bytes], status: int = 200, reason: bytes = b"OK") -> ResponseHead:
    names = tuple(name for name, _ in headers)
    return ResponseHead(status, reason, names, [value for _, value in headers])


def judged(plans: ResponsePlans, answer: ResponseHead) -> ResponsePlan:
    plan = plans.judge(answer)
    assert isinstance(plan, ResponsePlan)
    return plan


def make_plans() -> ResponsePlans:
    assert isinstance(PASSAGE, Passage)
    return ResponsePlans(PASSAGE, "POST", http11=True)


def test_answers_alike_in_what_decides_are_judged_once_and_keep_their_values() -> None:
    plans, length = make_plans(), (b"Content-Length", b"2")
    first, second = told((b"Date", b"1"), length), told((b"Date", b"2"), length)
    assert judged(plans, first) is judged(plans, second)
    head = judged(plans, second).render(second)
    assert head == b"HTTP/1.1 200 OK\r\nDate: 2\r\nContent-Length: 2\r\n\r\n"


@pytest.mark.parametrize(
    "other",
    [
        told((b"Connection", b"keep-alive"), (b"X", b"1"), status=201),
        told((b"Connection", b"keep-alive"), (b"X", b"1"), reason=b"Fine"),
        told((b"Connection", b"x"), (b"X", b"1")),
        told((b"connection", b"keep-alive"), (b"X", b"1")),
        told((b"X", b"1"), (b"Connection", b"keep-alive")),
    ],
)
def test_answer_that_differs_in_what_decides_is_judged_anew(other: ResponseHead) -> None:
    plans = make_plans()
    one = judged(plans, told((b"Connection", b"keep-alive"), (b"X", b"1")))
    assert judged(plans, other) is not one


def test_response_without_a_length_is_chunked_only_for_a_client_that_reads_chunks() -> None:
    assert isinstance(PASSAGE, Passage)
    old = judged(ResponsePlans(PASSAGE, "POST", http11=False), told((b"X", b"1")))
    new = judged(make_plans(), told((b"X", b"1")))
    assert (old.chunked, old.close, new.chunked, new.close) == (False, True, True, False)


def test_answers_kept_are_bounded_in_number_and_in_bytes() -> None:
    plans = make_plans()
    first = judged(plans, told())
    long = told((b"x" * KEPT_PLAN_BYTES, b""))
    assert judged(plans, long) is not judged(plans, long)
    for number in range(KEPT_PLANS - 1):
        judged(plans, told(status=400 + number))
    assert judged(plans, told()) is first
    judged(plans, told(status=500))
    assert judged(plans, told()) is not first


def test_answer_that_is_refused_is_refused_again() -> None:
    plans = make_plans()
    for value in (b"identity", b"gzip", b"gzip", b"identity"):
        packed = isinstance(plans.judge(told((b"Content-Encoding", value))), Refusal)
        assert packed == (value == b"gzip")


async def test_answers_on_one_connection_have_each_its_own_values_and_never_the_key() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
    async with attacked() as (peer, door):
        got = []
        for more in (
            b"X-A: 1\r\n",
            b"X-A: 2\r\n",
            b"X-A: " + KEY.encode() + b"\r\n",
            b"X-A: 4\r\n",
        ):
            peer.answer = head + more + b"\r\n"
            got.append(await say(door, closing(MODELS)))
        for named in (b"x-b", b"x-a"):
            peer.answer = head + b"X-A: 5\r\nConnection: keep-alive, " + named + b"\r\n\r\n"
            got.append(await say(door, closing(MODELS)))
    assert [b"X-A: %d\r\n" % number in one for number, one in enumerate(got, 1)] == [
        True, True, False, True, True, False,
    ]  # fmt: skip
    assert KEY.encode() not in b"".join(got)
    assert b"X-A: " + b"*" * len(KEY) + b"\r\n" in got[2]
