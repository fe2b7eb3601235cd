"""Each answer and frame about workers has a generated class, by which the clients of all tests of
routes read it; what the agent and its client said comes back byte for byte."""

import json
from datetime import UTC, datetime

import httpx
import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.workers.record import WorkerEvent
from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.surfaces.http.workers.workers import _frame
from tests.protocol.answers import ANSWERS, FRAMES, read_strictly
from tests.surfaces.http.world import document_text

ABOUT_WORKERS = (
    *("/v1/workers", "/v1/desktops", "/v1/agent-logins", "/v1/projections/worker_summaries"),
    *("/internal/executions", "/v1/organizations/{organization}/workers/backends"),
)
AT = datetime(2026, 1, 2, tzinfo=UTC)


def test_each_answer_about_workers_has_a_class() -> None:
    answers: set[str] = set()
    streams: set[str] = set()
    for path, methods in json.loads(document_text())["paths"].items():
        if not path.startswith(ABOUT_WORKERS):
            continue
        for method, route in methods.items():
            good = [one for status, one in route["responses"].items() if status[0] == "2"]
            kinds = {kind for one in good for kind in one.get("content", {})}
            if kinds:
                of_kind = streams if "text/event-stream" in kinds else answers
                of_kind.add(f"{method.upper()} {path}")
    assert (answers, streams) == (set(ANSWERS), set(FRAMES))


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("/v1/workers/w/snapshot", "application/json", '{"worker_id": "w", "stranger": 1}'),
        ("/api/runtime/codex/workers/w/snapshot", "application/json", '{"status": "asleep"}'),
        ("/v1/workers/w/stream?tail_ms=0", "text/event-stream", 'id: 1\ndata: {"sequence": 1}\n\n'),
    ],
)
async def test_answer_outside_of_the_messages_is_found(path: str, kind: str, text: str) -> None:
    request = httpx.Request("GET", f"http://127.0.0.1{path}")
    answer = httpx.Response(200, headers={"content-type": kind}, text=text, request=request)
    with pytest.raises(json_format.ParseError):
        await read_strictly(answer)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_spelled = st.builds(
    lambda value, indent, ascii_only: json.dumps(value, indent=indent, ensure_ascii=ascii_only),
    _json,
    st.sampled_from([None, 1]),
    st.booleans(),
)


@given(_spelled)
def test_opaque_text_of_an_event_comes_back_byte_for_byte(said: str) -> None:
    for kind, payload, member in (
        ("worker.event", {"method": "x", "params": said}, "params"),
        ("worker.response", {"request_id": "r", "result": said}, "result"),
        ("worker.request.received", {"request_id": "r", "method": "x", "params": said}, "params"),
    ):
        frame = _frame("w", WorkerEvent(3, kind, 1, AT, payload))
        (data,) = [one for one in frame.splitlines() if one.startswith(b"data: ")]
        parsed = json_format.Parse(data.removeprefix(b"data: "), events_pb2.WorkerEvent())
        sent = events_pb2.WorkerEvent.FromString(parsed.SerializeToString())
        name = kind.removeprefix("worker.").replace(".", "_")
        assert getattr(getattr(sent.payload, name), member) == said
