"""Workers by the client: prompts, receipts, and a stream that resumes."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from atoll.client import Atoll
from atoll.client.made.workers.workers import WorkerReceipt
from atoll.client.server import server_at
from atoll.client.transport import Transport
from atoll.client.workers.shapes import WorkerDelta, WorkerEvent
from atoll.client.workers.workers import Workers, result_of
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    StaleCursor,
    Unavailable,
)
from tests.client.test_programs import problem, server

STALE = {"code": "stale_cursor", "detail": "gone", "resume_after": 7}
Agent = Callable[[str, dict[str, Any]], Any]


def receipt(**outcome: Any) -> WorkerReceipt:
    return WorkerReceipt({"worker_id": "w", "request_id": "r1", **outcome})


def answering(agent: Agent, asked: list[tuple[str, dict[str, Any]]]) -> Any:
    """A server whose worker answers by a function."""

    async def answer(request: web.Request) -> web.Response:
        body = (await request.json())["request"]
        asked.append((body["method"], body["params"]))
        result = json.dumps(agent(body["method"], body["params"]))
        head = {"worker_id": "w", "request_id": body["request_id"]}
        return web.json_response({**head, "response": {"result": result}})

    return answer


@pytest.mark.parametrize(
    ("loaded", "listed", "named", "methods", "thread"),
    [
        ([], [], None, ["thread/loaded/list", "thread/list", "thread/start", "turn/start"], "new"),
        (["a"], [], None, ["thread/loaded/list", "thread/list", "turn/start"], "a"),
        (["b"], ["b"], None, ["thread/loaded/list", "thread/list", "turn/start"], "b"),
        ([], ["b"], None, ["thread/loaded/list", "thread/list", "thread/resume", "turn/start"],
         "b"),
        (["b"], ["b"], "c", ["thread/loaded/list", "thread/resume", "turn/start"], "c"),
        (["c"], ["b"], "c", ["thread/loaded/list", "turn/start"], "c"),
    ],
)  # fmt: skip
async def test_prompt_goes_to_the_named_the_newest_or_a_new_thread(
    loaded: list[str], listed: list[str], named: str | None, methods: list[str], thread: str
) -> None:
    def agent(method: str, _: dict[str, Any]) -> Any:
        answers: dict[str, Any] = {
            "thread/loaded/list": {"data": loaded},
            "thread/list": {"data": [{"id": one} for one in listed]},
            "thread/start": {"thread": {"id": "new"}},
            "turn/start": {"turn": {"id": "t1"}},
        }
        return answers.get(method, {})

    asked: list[tuple[str, dict[str, Any]]] = []
    async with server(answering(agent, asked)) as url, Atoll(url, "t") as client:
        turn = await client.workers.ask("w", "Hello", thread_id=named)
    assert turn == (thread, "t1")
    assert [method for method, _ in asked] == methods
    assert asked[-1][1] == {"threadId": thread, "input": [{"type": "text", "text": "Hello"}]}


async def test_answer_names_the_question_by_our_id() -> None:
    asked: list[tuple[str, dict[str, Any]]] = []
    async with server(answering(lambda *_: {}, asked)) as url, Atoll(url, "t") as client:
        await client.workers.answer("w", "q1", {"decision": "accept"})
    params = {"server_request_id": "q1", "result": {"decision": "accept"}}
    assert asked == [("serverRequest/respond", params)]


@pytest.mark.parametrize(
    ("code", "kind"),
    [("forbidden", Forbidden), ("invalid_request", Invalid), ("unsupported_method", Invalid),
     ("conflict", Conflict), ("worker_unavailable", Unavailable), ("timeout", Unavailable),
     ("internal_error", Failed), ("outcome_unknown", Failed), ("of_a_newer_server", Failed)],
)  # fmt: skip
def test_refusal_is_a_typed_error_with_its_code(code: str, kind: type[AtollError]) -> None:
    error = {"code": code, "message": "no", "retryable": False, "data": None}
    with pytest.raises(AtollError) as found:
        result_of(receipt(error=error))
    assert (type(found.value), found.value.code) == (kind, code)


def test_request_without_a_receipt_is_not_ready() -> None:
    with pytest.raises(Unavailable) as found:
        result_of(receipt())
    assert found.value.code == "not_ready"
    with pytest.raises(Failed):
        result_of(receipt(response={"result": "{"}))


def test_message_of_an_agent_is_read_from_its_event() -> None:
    said = {"method": "item/x/requestApproval", "params": '{"n": 1}', "server_request_id": "7"}
    event = WorkerEvent({"event_type": "worker.event", "payload": {"event": said}})
    assert (event.method, event.params, event.question) == ("item/x/requestApproval", {"n": 1}, "7")
    other = WorkerEvent({"event_type": "worker.lost", "payload": {"lost": {"method": "m"}}})
    assert (other.method, other.params, other.question) == ("", None, "")
    assert WorkerEvent({}).said == {}


async def test_worker_is_waited_for_until_it_runs_or_has_failed() -> None:
    states = iter([{"status": "starting"}, {"status": "running"}, {"status": "failed"}])

    def answer(_: web.Request) -> web.Response:
        return web.json_response({"worker_id": "w", "reason": "no room", **next(states)})

    async with server(answer) as url, Atoll(url, "t") as client:
        assert (await client.workers.ready("w")).status == "running"
        with pytest.raises(Failed, match="failed: no room"):
            await client.workers.ready("w")


async def test_list_is_read_over_all_its_pages() -> None:
    pages: dict[str, Any] = {"": (["a", "b"], "c1"), "c1": (["c"], None)}

    def answer(request: web.Request) -> web.Response:
        names, following = pages[request.query.get("cursor", "")]
        workers = [{"worker_id": name} for name in names]
        return web.json_response({"workers": workers, "next": following})

    async with server(answer) as url, Atoll(url, "t") as client:
        assert [one.worker_id async for one in client.workers.list()] == ["a", "b", "c"]


async def test_stream_resumes_over_a_cut_and_ends_with_the_worker() -> None:
    cursors: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        cursors.append(request.query["cursor"])
        told = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await told.prepare(request)
        after = int(request.query["cursor"])
        await told.write(b"retry: 1000\nid: %d\n\n: still here\n\n" % after)
        for seq in (after + 1, after + 2):
            kind = "worker.torn_down" if seq == 6 else "worker.event"
            data = json.dumps({"seq": seq, "event_type": kind}).encode()
            await told.write(b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, kind.encode(), data))
        await told.write(b"id: 9\nda")
        assert request.transport is not None
        request.transport.abort()
        return told

    async with server(answer) as url, Atoll(url, "t") as client:
        found = [event.seq async for event in client.workers.follow("w", after=2)]
    assert found == [3, 4, 5, 6]
    assert cursors == ["2", "4"]


def frame(seq: int, kind: str = "worker.event") -> str:
    data = json.dumps({"seq": seq, "event_type": kind})
    return f"id: {seq}\nevent: {kind}\ndata: {data}\n\n"


def piece(params: str) -> str:
    said = {"worker_id": "w", "method": "x/delta", "params": params, "thread_id": None}
    return f"event: worker.delta\ndata: {json.dumps(said)}\n\n"


def streamed(*frames: str) -> web.Response:
    return web.Response(text="retry: 1\nid: 0\n\n" + "".join(frames), content_type=SSE)


SSE = "text/event-stream"
PIECES = (
    piece('{"itemId":"i1","delta":"Hel"}'),
    frame(1),
    piece('{"delta":3,"itemId":null}'),
    piece("[]"),
    frame(2, "worker.torn_down"),
)


async def test_pieces_come_between_the_events_to_those_who_listen() -> None:
    async with server(lambda _: streamed(*PIECES)) as url, Atoll(url, "t") as client:
        heard = [one async for one in client.workers.listen("w")]
        followed = [one.seq async for one in client.workers.follow("w")]
    assert followed == [1, 2]
    pieces = [(one.item_id, one.text) for one in heard if isinstance(one, WorkerDelta)]
    assert pieces == [("i1", "Hel"), ("", ""), ("", "")]
    assert [isinstance(one, WorkerEvent) for one in heard] == [False, True, False, False, True]


async def test_piece_does_not_move_the_place_to_resume_after() -> None:
    cursors: list[str] = []

    def answer(request: web.Request) -> web.Response:
        cursors.append(request.query["cursor"])
        first = (frame(1), PIECES[0])
        return streamed(*(first if len(cursors) == 1 else (frame(2, "worker.torn_down"),)))

    async with server(answer) as url, Atoll(url, "t") as client:
        assert [one.seq async for one in client.workers.follow("w")] == [1, 2]
    assert cursors == ["0", "1"]


async def test_poll_has_the_events_that_are_there() -> None:
    asked: list[tuple[str, str]] = []

    def answer(request: web.Request) -> web.Response:
        asked.append((request.query["cursor"], request.query["tail_ms"]))
        return streamed(PIECES[0], frame(4), frame(5))

    async with server(answer) as url, Atoll(url, "t") as client:
        found = await client.workers.events("w", after=3, tail_ms=250)
        assert [one.seq for one in found] == [4, 5]
        blocking = Workers(Transport(lambda: server_at(url, url)))
        found = await asyncio.to_thread(blocking.events, "w", after=3, tail_ms=250)
        assert [one.seq for one in found] == [4, 5]
    assert asked == [("3", "250")] * 2


async def test_frame_that_is_no_json_is_a_typed_error() -> None:
    broken = "event: worker.delta\ndata: {\n\n"
    async with server(lambda _: streamed(broken)) as url, Atoll(url, "t") as client:
        with pytest.raises(Failed):
            await anext(client.workers.listen("w"))


async def test_owner_deletes_what_was_said() -> None:
    def answer(request: web.Request) -> web.Response:
        assert (request.method, request.path) == ("DELETE", "/v1/workers/w/stream")
        return web.json_response({"removed": 4, "resume_after": 4})

    async with server(answer) as url, Atoll(url, "t") as client:
        erased = await client.workers.erase("w")
    assert (erased.removed, erased.resume_after) == (4, 4)


async def test_stream_whose_events_are_gone_is_a_typed_error() -> None:
    async with (
        server(lambda _: web.json_response(STALE, status=410)) as url,
        Atoll(url, "t") as client,
    ):
        for act in (
            anext(client.workers.follow("w", after=2)),
            client.workers.events("w", after=2),
        ):
            with pytest.raises(StaleCursor) as found:
                await act
            assert (found.value.code, found.value.resume_after) == ("stale_cursor", 7)


async def test_stale_cursor_without_a_place_is_a_typed_error() -> None:
    async with (
        server(lambda _: problem(410, "stale_cursor")) as url,
        Atoll(url, "t") as client,
    ):
        with pytest.raises(Conflict) as found:
            await anext(client.workers.follow("w", after=2))
    assert found.value.code == "stale_cursor"
