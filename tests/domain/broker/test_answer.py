import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.broker.answer import DECIDING, judge_answer
from atoll.domain.broker.passage import Headers, IncomingRequest, Passage, Refusal, judge
from atoll.domain.broker.provider import OPENAI, Upstream

FOUND = judge(
    Upstream(OPENAI, "https://a.example/base", "k" * 20), IncomingRequest("POST", "/v1/responses")
)
assert isinstance(FOUND, Passage)
PASSAGE = FOUND


def kept(status: int, *headers: tuple[str, str]) -> Headers:
    verdict = judge_answer(PASSAGE, status, headers)
    assert not isinstance(verdict, Refusal), verdict
    passed, ours = verdict
    return (*(headers[at] for at in passed), *ours)


def test_answer_keeps_what_is_the_sandboxs() -> None:
    kind, length = ("Content-Type", "text/plain"), ("Content-Length", "3")
    own = (
        ("Set-Cookie", "a=b"),
        ("WWW-Authenticate", "x"),
        ("Connection", "close, X-N"),
        ("X-N", ""),
    )
    assert kept(200, kind, *own, length, ("Transfer-Encoding", "chunked")) == (kind, length)


def test_answer_with_nothing_to_judge_passes_as_it_is() -> None:
    headers = (("content-type", "text/plain"), ("X-Request-Id", "1"), ("content-type", "b"))
    assert kept(200, *headers) == headers
    assert kept(307, *headers, ("Location", "/base/x")) == (
        *headers,
        ("Location", "/broker/openai/x"),
    )


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/base/v1/other?x=1", "/broker/openai/v1/other?x=1"),
        ("https://a.example/base/v1/x", "/broker/openai/v1/x"),
        ("https://A.EXAMPLE:443/base/v1/x", "/broker/openai/v1/x"),
        ("https://b.example/base/x", None),
        ("http://a.example/base/x", None),
        ("//b.example/base/x", None),
        ("\\\\b.example", None),
        ("https://a.example:444/base/", None),
        ("https://a.example:port/base/", None),
        ("https://u@a.example/base/", None),
        ("/elsewhere", None),
        ("relative", None),
    ],
)
def test_answer_redirect_stays_below_the_base_of_its_origin(
    location: str, shown: str | None
) -> None:
    verdict = judge_answer(PASSAGE, 307, (("Location", location),))
    if shown is None:
        assert isinstance(verdict, Refusal) and verdict.error == "redirect_blocked"
        assert kept(201, ("Location", location)) == ()
    else:
        assert verdict == ((), (("Location", shown),))


def test_answer_location_of_other_statuses_means_nothing() -> None:
    assert kept(200, ("Location", "/base/v1/x")) == ()


@pytest.mark.parametrize(
    "header", [("Content-Encoding", "gzip"), ("Sec-WebSocket-Extensions", "permessage-deflate")]
)
def test_answer_packed_is_refused(header: tuple[str, str]) -> None:
    verdict = judge_answer(PASSAGE, 200, (header,))
    assert isinstance(verdict, Refusal) and verdict.error == "packed_answer"
    assert kept(200, ("Content-Encoding", "identity")) == (("Content-Encoding", "identity"),)


def test_answer_that_switches_protocols_unasked_is_refused() -> None:
    verdict = judge_answer(PASSAGE, 101, ())
    assert isinstance(verdict, Refusal) and verdict.error == "bad_answer"


NAMES = st.sampled_from(
    ["Connection", "content-encoding", "Location", "Set-Cookie", "X-A", "x-b", "Date", "Alt-Svc",
     "Content-Length", "Transfer-Encoding", "Sec-WebSocket-Extensions"]
)  # fmt: skip
VALUES = st.sampled_from(["", "x-a", "X-B, close", "identity", "gzip", "/base/v1/x", "//b", "1"])


@given(
    st.sampled_from([101, 200, 201, 204, 307, 400]),
    st.lists(st.tuples(NAMES, VALUES, VALUES), max_size=6),
)
def test_answer_is_judged_by_no_values_but_those_that_decide(
    status: int, rows: list[tuple[str, str, str]]
) -> None:
    one = tuple((name, value) for name, value, _ in rows)
    two = tuple((name, value if name.lower() in DECIDING else other) for name, value, other in rows)
    assert judge_answer(PASSAGE, status, one) == judge_answer(PASSAGE, status, two)
