"""The pump: what a client and a server tell each other by it, whatever happens between them."""

import json
import threading
from itertools import count
from typing import Any

import pytest

from atoll.client.bridge import bridge as pump
from atoll.client.bridge.endpoint import Endpoint, McpOptions, target_of
from atoll.client.bridge.messages import INVALID_REQUEST, MAX_LINE_BYTES, PARSE_ERROR, VERSION_KEY
from tests.client.bridge.conftest import SECONDS, TOKEN, Peer, Request, Talk

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}


class Sessions:
    """A server with sessions: `lose` makes it forget those there are."""

    def __init__(self, hello: dict[str, Any] = HELLO) -> None:
        self.hello = hello
        self.numbers = count(1)
        self.living: set[str] = set()
        self.streams: dict[str, threading.Event] = {}

    def __call__(self, request: Request) -> None:
        named = request.headers.get("mcp-session-id", "")
        if request.method == "POST" and request.value.get("method") == "initialize":
            made = f"session-{next(self.numbers)}"
            self.living.add(made)
            request.result(self.hello, session=made)
        elif named not in self.living:
            told = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "gone"}}
            request.answer(json.dumps(told).encode(), 404)
        elif request.method == "GET":
            request.stream({"method": "notifications/message", "params": {"in": named}}, ends=False)
        elif request.method == "DELETE":
            self.living.discard(named)
            request.answer(b"", 204)
        elif "id" in request.value:
            request.result({"in": named})
        else:
            request.answer(b"", 202)

    def lose(self) -> None:
        self.living.clear()


def begin(peer: Peer, talk: Talk, sessions: Sessions) -> None:
    peer.handle = sessions
    assert talk.ask("initialize")["result"] == sessions.hello
    talk.say("notifications/initialized")
    assert talk.line()["method"] == "notifications/message"


def test_request_and_answer_pass_unchanged(peer: Peer, talk: Talk) -> None:
    told = b'{"jsonrpc":"2.0", "id":"x",  "method":"tools/call","params":{"name":"a","big":1e400}}'
    talk.send(told)
    assert talk.line() == {"jsonrpc": "2.0", "id": "x", "result": {}}
    (seen,) = peer.all
    assert (seen.method, seen.target, seen.body) == ("POST", "/mcp", told)
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"
    assert "mcp-session-id" not in seen.headers and "mcp-method" not in seen.headers


def test_newest_revision_is_said_in_headers_and_has_no_session(peer: Peer, talk: Talk) -> None:
    begin(peer, talk, Sessions())
    peer.handle = lambda request: request.result({})
    meta = {VERSION_KEY: "2026-07-28"}
    talk.ask("tools/call", name="atoll.list", _meta=meta)
    seen = peer.all[-1].headers
    assert seen["mcp-protocol-version"] == "2026-07-28" and "mcp-session-id" not in seen
    assert (seen["mcp-method"], seen["mcp-name"]) == ("tools/call", "atoll.list")


def test_session_is_kept_and_ended_with_the_client(peer: Peer, talk: Talk) -> None:
    sessions = Sessions()
    begin(peer, talk, sessions)
    assert talk.ask("tools/list", 2)["result"] == {"in": "session-1"}
    assert peer.all[-1].headers["mcp-protocol-version"] == "2025-11-25"
    talk.end()
    assert not sessions.living


def test_lost_session_is_begun_anew_unnoticed(peer: Peer, talk: Talk) -> None:
    sessions = Sessions()
    begin(peer, talk, sessions)
    talk.ask("resources/subscribe", 2, uri="atoll://sandbox/*")
    talk.ask("resources/subscribe", 3, uri="atoll://agent/*")
    talk.ask("resources/unsubscribe", 4, uri="atoll://agent/*")
    sessions.lose()
    talk.say("tools/list", 5)
    lines = [talk.line(), talk.line()]
    assert {"uri": "atoll://sandbox/*"} in [one.get("params") for one in lines]
    assert {"in": "session-2"} in [one.get("result") for one in lines]
    assert peer.methods()[-5:] == [
        *("tools/list", "initialize", "notifications/initialized"),
        *("resources/subscribe", "tools/list"),
    ]


def test_session_of_another_version_is_not_taken_for_the_same(peer: Peer, talk: Talk) -> None:
    sessions = Sessions()
    begin(peer, talk, sessions)
    sessions.lose()
    sessions.hello = {**HELLO, "capabilities": {}}
    assert talk.ask("tools/list", 5)["error"]["data"] == {"code": "session_lost"}


def test_many_requests_begin_a_lost_session_once(peer: Peer, talk: Talk) -> None:
    sessions = Sessions()
    begin(peer, talk, sessions)
    sessions.lose()
    for number in range(8):
        talk.say("tools/list", number)
    assert {talk.line()["result"]["in"] for _ in range(8)} == {"session-2"}
    assert peer.methods().count("initialize") == 2


def test_standing_stream_goes_on_from_its_last_event(peer: Peer, talk: Talk) -> None:
    def breaks(request: Request) -> None:
        if request.method == "GET":
            again = "last-event-id" in request.headers
            request.stream({"method": "notifications/message"}, ends=not again)
        else:
            sessions(request)

    sessions = Sessions()
    peer.handle = breaks
    talk.ask("initialize")
    talk.say("notifications/initialized")
    assert [talk.line()["method"] for _ in range(2)] == ["notifications/message"] * 2
    assert [one.headers.get("last-event-id") for one in peer.all if one.method == "GET"] == [
        None,
        "1",
    ]


def test_stream_of_a_request_ends_with_its_answer(peer: Peer, talk: Talk) -> None:
    change = {"method": "notifications/resources/updated", "params": {"uri": "a"}}
    peer.handle = lambda request: request.stream(change, {"id": 1, "result": {}})
    assert talk.ask("subscriptions/listen")["params"] == {"uri": "a"}
    assert talk.line()["result"] == {}


def test_stream_that_breaks_off_is_an_error(peer: Peer, talk: Talk) -> None:
    peer.handle = lambda request: request.stream({"method": "notifications/message"})
    talk.ask("subscriptions/listen")
    assert talk.line()["error"]["data"] == {"code": "reply_lost"}


def test_cancelled_request_is_ended_and_not_answered(peer: Peer, talk: Talk) -> None:
    peer.handle = lambda request: request.stream(ends=False)
    talk.say("subscriptions/listen", 7)
    peer.seen.get(timeout=SECONDS)
    talk.say("notifications/cancelled", requestId=7)
    peer.handle = lambda request: request.result({})
    assert talk.ask("ping", 8)["id"] == 8
    talk.end()
    assert talk.is_quiet() and len(peer.all) == 2


def test_slow_request_holds_up_no_other(peer: Peer, talk: Talk) -> None:
    go = threading.Event()

    def slow(request: Request) -> None:
        if request.value["method"] == "slow":
            go.wait(SECONDS)
        request.result({})

    peer.handle = slow
    talk.say("slow", 1)
    assert talk.ask("ping", 2)["id"] == 2
    again = talk.ask("ping", 1)
    assert (again["id"], again["error"]["code"]) == (1, INVALID_REQUEST)
    go.set()
    assert talk.line()["id"] == 1


def test_requests_at_a_time_are_bounded(
    peer: Peer, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "MAX_PENDING", 2)
    peer.handle = lambda request: request.stream(ends=False)
    for number in range(2):
        talk.say("slow", number)
    assert talk.ask("slow", 2)["error"]["data"] == {"code": "limit_reached"}


def test_answers_are_waited_for_after_the_client_has_closed_its_end(peer: Peer) -> None:
    go = threading.Event()

    def slow(request: Request) -> None:
        go.wait(SECONDS)
        request.result({})

    peer.handle = slow
    talk = Talk(Endpoint(peer.locate))
    talk.say("tools/call", 1)
    peer.seen.get(timeout=SECONDS)
    go.set()
    talk.end()
    assert talk.line()["id"] == 1


def test_lines_that_are_no_messages_are_answered_and_the_next_one_read(
    peer: Peer, talk: Talk
) -> None:
    talk.send(b"{")
    assert talk.line()["error"]["code"] == PARSE_ERROR
    talk.send(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
    assert talk.line()["error"]["code"] == INVALID_REQUEST
    talk.send(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * MAX_LINE_BYTES + b'"}')
    assert talk.line()["error"]["message"] == "a message has at most 4 MiB"
    assert talk.ask("ping", 9)["id"] == 9
    assert len(peer.all) == 1


@pytest.mark.parametrize(
    ("status", "kind", "body", "code"),
    [
        (200, "text/html", b"<p>hello\n</p>", "reply_lost"),
        (200, "application/json", b"[1]", "reply_lost"),
        (200, "application/json", b"{" * 9000, "reply_lost"),
        (202, "application/json", b"", "reply_lost"),
        (401, "application/problem+json", b'{"code":"unauthenticated"}', "unauthenticated"),
        (502, "text/html", b"<p>Bad Gateway", "failed"),
    ],
)
def test_whatever_a_server_answers_the_client_reads_one_error(
    peer: Peer, talk: Talk, status: int, kind: str, body: bytes, code: str
) -> None:
    peer.handle = lambda request: request.answer(body, status, kind)
    told = talk.ask("tools/list", 3)
    assert (told["id"], told["error"]["data"]) == (3, {"code": code})


def test_error_of_the_protocol_passes_with_the_id_of_its_request(peer: Peer, talk: Talk) -> None:
    refused = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "no", "data": 1}}
    peer.handle = lambda request: request.answer(json.dumps(refused).encode(), 400)
    assert talk.ask("tools/list", 3) == {**refused, "id": 3}


def test_lost_answer_is_an_error_and_nothing_is_sent_twice(peer: Peer, talk: Talk) -> None:
    peer.handle = Request.drop
    assert talk.ask("tools/call", 1)["error"]["data"] == {"code": "reply_lost"}
    peer.handle = lambda request: request.result({})
    assert talk.ask("ping", 2)["id"] == 2
    assert peer.methods() == ["tools/call", "ping"]


def test_request_waits_for_a_server_that_is_away(peer: Peer) -> None:
    peer.locate()
    peer.stop()
    waits: list[float] = []

    def back(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            peer.start(peer.port)

    talk = Talk(Endpoint(peer.locate, sleep=back))
    assert talk.ask("tools/call")["result"] == {}
    talk.end()
    assert len(waits) == 3 and peer.methods() == ["tools/call"]


def test_server_that_stays_away_is_an_error_after_fifteen_seconds(peer: Peer) -> None:
    peer.locate()
    peer.stop()
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    talk = Talk(Endpoint(peer.locate, sleep=sleep, clock=lambda: now[0]))
    assert talk.ask("tools/call")["error"]["data"] == {"code": "upstream_unreachable"}
    assert 15 <= now[0] < 15.2
    talk.end()
    assert peer.all == []


def test_token_of_a_home_reaches_that_home_alone(peer: Peer) -> None:
    server = peer.locate()
    assert target_of(server, McpOptions()) == "/mcp"
    assert target_of(server, McpOptions("a b/c?")) == "/mcp?sandbox=a+b%2Fc%3F"
    home = server._replace(by_home=True, prefix="/below")
    assert target_of(home, McpOptions()) == "/below/mcp?reach=home"
    assert (
        target_of(home, McpOptions("box", flat=True))
        == "/below/mcp?sandbox=box&names=flat&reach=home"
    )
