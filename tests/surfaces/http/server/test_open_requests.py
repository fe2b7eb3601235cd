"""Requests that are open when the server ends."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from atoll.surfaces.http.server.connections import open_requests
from atoll.surfaces.http.server.connections.open_requests import OpenRequests

SSE = b"text/event-stream; charset=utf-8"


class Served:
    """One request to an application that begins an answer, and never ends it."""

    def __init__(
        self, tasks: asyncio.TaskGroup, kind: bytes | None, *, scope: str, method: str
    ) -> None:
        self._kind = kind
        self.sent: list[Message] = []
        self.waits = asyncio.Event()
        self.app = OpenRequests(self._answer)
        scopes: dict[str, Any] = {"type": scope, "path": "/", "headers": [], "method": method}
        self.task = tasks.create_task(self.app(scopes, self._receive, self._send))

    async def _answer(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        if self._kind is not None:
            headers = [(b"content-type", self._kind)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
        self.waits.set()
        await asyncio.Event().wait()

    async def _receive(self) -> Message:
        return {"type": "http.request"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)


async def _serve_and_end(
    kind: bytes | None, *, times: int = 1, scope: str = "http", method: str = "GET"
) -> list[Message]:
    """Serve a request, end the server so many times, and return what was sent."""
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        served = Served(tasks, kind, scope=scope, method=method)
        await served.waits.wait()
        for _ in range(times):
            served.app.end()
    return served.sent


async def test_stream_of_events_ends_at_once_and_whole() -> None:
    *_, last = await _serve_and_end(SSE)
    assert (last["body"], last["more_body"]) == (b"", False)


async def test_answer_on_its_way_is_cut_off_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_requests, "FINISH_SECONDS", 0.01)
    for kind, method in ((b"application/x-ndjson", "GET"), (SSE, "POST")):
        sent = await _serve_and_end(kind, method=method)
        assert sent[-1]["more_body"] is True


async def test_request_without_an_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_requests, "FINISH_SECONDS", 0.01)
    start, body = await _serve_and_end(None)
    assert start["status"] == 503 and (b"retry-after", b"1") in start["headers"]
    assert b'"stopping"' in body["body"]


async def test_second_end_waits_for_nothing_but_sockets_that_the_server_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (await _serve_and_end(None, times=2))[0]["status"] == 503
    monkeypatch.setattr(open_requests, "FINISH_SECONDS", 0.01)
    assert await _serve_and_end(None, times=2, scope="websocket") == []


async def test_failure_that_is_no_end_is_raised() -> None:
    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("broken")

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(_message: Message) -> None:
        raise AssertionError

    with pytest.raises(RuntimeError, match="broken"):
        await OpenRequests(fail)({"type": "http", "headers": []}, receive, send)
