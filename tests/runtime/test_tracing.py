"""What a runtime tells of the requests that it serves: spans of sampled traces, ids in its log."""

import asyncio
from typing import Any

import pytest

from atoll.runtime.api.tracing import MAX_SPANS, SpanBuffer
from atoll.wire.contract.correlation import SpanRecord, take_spans
from tests.runtime.stage import Runtime, runtime

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = {"traceparent": f"00-{TRACE}-{SPAN}-01", "X-Request-ID": "req-1"}


async def spans_of(made: Runtime) -> list[SpanRecord]:
    async with made.client.get("http://runtime/spans") as answer:
        return list(take_spans().read(answer.status, await answer.read()).spans)


async def test_sampled_request_leaves_one_span_with_the_route_and_no_ids_in_its_name() -> None:
    async with runtime() as made:
        body = {"argv": ["echo", "s3cret-word"]}
        async with made.client.post("http://runtime/execs", json=body, headers=SAMPLED) as answer:
            exec_id = (await answer.json())["exec_id"]
        async with made.client.get(f"http://runtime/execs/{exec_id}", headers=SAMPLED):
            pass
        first, second = await spans_of(made)
        assert [first.name, second.name] == ["POST /execs", "GET /execs/{id}"]
        assert (first.trace_id, first.parent_id, first.status) == (TRACE, SPAN, 200)
        assert first.request_id == "req-1" and first.end_us >= first.start_us > 0
        assert first.span_id not in (SPAN, second.span_id)
        assert "s3cret" not in repr((first, second)) and exec_id not in repr((first, second))
        assert await spans_of(made) == []


@pytest.mark.parametrize(
    "headers", [{}, {"traceparent": f"00-{TRACE}-{SPAN}-00"}, {"traceparent": "nonsense"}]
)
async def test_request_without_a_sampled_trace_leaves_nothing(headers: dict[str, str]) -> None:
    async with runtime() as made:
        async with made.client.get("http://runtime/health", headers=headers):
            pass
        assert await spans_of(made) == []


async def test_span_of_an_attach_ends_with_the_upgrade() -> None:
    async with runtime() as made:
        async with made.client.post("http://runtime/sessions", json={"argv": ["cat"]}) as answer:
            place = f"http://runtime/sessions/{(await answer.json())['session_id']}/attach"
        async with made.client.ws_connect(place, headers=SAMPLED) as socket:
            await socket.receive()
            (span,) = await spans_of(made)
            assert (span.name, span.status) == ("GET /sessions/{id}/attach", 101)
        await asyncio.sleep(0)
        assert await spans_of(made) == []


async def test_fault_is_logged_with_the_request_id(caplog: pytest.LogCaptureFixture) -> None:
    async with runtime() as made:

        async def broken(*_: Any, **__: Any) -> None:
            raise RuntimeError("a defect")

        made.execs.start = broken  # type: ignore[method-assign, assignment]
        body = {"argv": ["true"]}
        async with made.client.post("http://runtime/execs", json=body, headers=SAMPLED) as answer:
            assert answer.status == 500
        assert "POST /execs broke request_id=req-1" in caplog.text
        (span,) = await spans_of(made)
        assert span.status == 500


def test_full_buffer_drops_the_oldest_and_says_how_many() -> None:
    spans = SpanBuffer()
    for n in range(MAX_SPANS + 3):
        spans.add(SpanRecord("GET /x", TRACE, SPAN, SPAN, n, n, 200))
    taken = spans.take()
    assert (len(taken.spans), taken.dropped, taken.spans[0].start_us) == (MAX_SPANS, 3, 3)
    assert spans.take().spans == ()
