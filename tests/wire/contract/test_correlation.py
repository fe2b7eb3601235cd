"""Traces as headers, and records of spans: what is malformed counts as absent."""

import msgspec
import pytest

from atoll.wire.contract.correlation import (
    SpanList,
    SpanRecord,
    TraceParent,
    read_trace_parent,
    take_spans,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RECORD = SpanRecord("GET /execs/{id}", TRACE, SPAN, "b" * 16, 1, 2, 200)


def test_trace_parent_is_read_and_spelled_alike() -> None:
    text = f"00-{TRACE}-{SPAN}-01"
    assert read_trace_parent(text) == TraceParent(TRACE, SPAN)
    assert str(read_trace_parent(text)) == text
    assert str(TraceParent(TRACE, SPAN, sampled=False)) == f"00-{TRACE}-{SPAN}-00"


def test_later_version_may_have_more_fields() -> None:
    assert read_trace_parent(f"01-{TRACE}-{SPAN}-03-what") == TraceParent(TRACE, SPAN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-01 ",
        f"00-{TRACE}-{SPAN}-01\n",
        f"0-{TRACE}-{SPAN}-01",
    ],
)
def test_malformed_trace_parent_is_none(text: str) -> None:
    assert read_trace_parent(text) is None


def test_spans_are_read_within_their_bounds() -> None:
    call = take_spans()
    assert (call.method, call.path) == ("GET", "/spans")
    body = msgspec.json.encode(SpanList((RECORD,), 3))
    assert call.read(200, body) == SpanList((RECORD,), 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"trace_id": "x"},
        {"trace_id": "0" * 32},
        {"span_id": "0" * 16},
        {"name": "GET"},
        {"name": "GET /a b"},
        {"name": "GET /" + "a" * 200},
        {"start_us": -1},
        {"status": 1000},
        {"request_id": "a" * 200},
    ],
)
def test_span_outside_its_bounds_is_refused(wrong: dict[str, object]) -> None:
    body = msgspec.json.encode({"spans": [msgspec.to_builtins(RECORD) | wrong]})
    with pytest.raises(msgspec.ValidationError):
        take_spans().read(200, body)
