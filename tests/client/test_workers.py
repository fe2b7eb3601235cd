"""Workers by the client: prompts, receipts, and a stream that resumes."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from atoll.client import Atoll
from atoll.client.workers.shapes import WorkerEvent, WorkerReceipt
from atoll.client.workers.workers import result_of
from atoll.domain.errors import AtollError, Conflict, Failed, Forbidden, Invalid, Unavailable
from tests.client.test_programs import problem, server

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


async def test_stream_whose_events_are_gone_is_a_typed_error() -> None:
    async with (
        server(lambda _: problem(410, "stale_cursor")) as url,
        Atoll(url, "t") as client,
    ):
        with pytest.raises(Conflict) as found:
            await anext(client.workers.follow("w", after=2))
    assert found.value.code == "stale_cursor"
