"""A bridge between a client that writes lines, and a server that answers by the book."""

import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from atoll.client.bridge.bridge import Bridge
from atoll.client.bridge.endpoint import Endpoint
from atoll.client.server import Server, server_at

SECONDS = 10.0
TOKEN = "a-token-of-a-test"
Handler = Callable[["Request"], None]


@dataclass
class Request:
    """A request as the server got it, and its ways to answer."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    peer: BaseHTTPRequestHandler

    @property
    def value(self) -> Any:
        return json.loads(self.body)

    def answer(
        self, body: bytes, status: int = 200, kind: str = "application/json", session: str = ""
    ) -> None:
        self.peer.send_response(status)
        told = {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, text in (told | ({"Mcp-Session-Id": session} if session else {})).items():
            self.peer.send_header(name, text)
        self.peer.end_headers()
        self.peer.wfile.write(body)

    def result(self, value: Any, session: str = "") -> None:
        told = {"jsonrpc": "2.0", "id": self.value["id"], "result": value}
        self.answer(json.dumps(told).encode(), session=session)

    def stream(self, *messages: Any, ends: bool = True) -> None:
        """Answer with events, each with its number as its id."""
        self.peer.send_response(200)
        self.peer.send_header("Content-Type", "text/event-stream")
        self.peer.end_headers()
        for number, one in enumerate(messages, 1):
            text = json.dumps({"jsonrpc": "2.0", **one})
            self.peer.wfile.write(f": ping\n\nid: {number}\ndata: {text}\n\n".encode())
        self.peer.wfile.flush()
        if not ends:
            # Until the bridge leaves.
            self.peer.connection.recv(1)

    def drop(self) -> None:
        """End the connection without an answer."""
        self.peer.connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Peer:
    """A server that hands each request to `handle`."""

    handle: Handler = lambda request: request.result({})
    seen: "queue.Queue[Request]" = field(default_factory=queue.Queue)
    all: list[Request] = field(default_factory=list)
    server: ThreadingHTTPServer | None = None
    port: int = 0

    def start(self, port: int = 0) -> None:
        peer = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): text for name, text in self.headers.items()}
                request = Request(self.command, self.path, headers, body, self)
                peer.all.append(request)
                peer.seen.put(request)
                peer.handle(request)

            do_GET = do_POST = do_DELETE = _any

            def log_message(self, *_: Any) -> None: ...

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None: ...

        self.server = Quiet(("127.0.0.1", port), Answers)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def locate(self) -> Server:
        if self.server is not None:
            self.port = self.server.server_address[1]
        server = server_at(f"http://127.0.0.1:{self.port}", "test")
        return server._replace(token=TOKEN)

    def methods(self) -> list[str]:
        """The methods of the messages that came so far."""
        return [one.value.get("method", "") for one in self.all if one.method == "POST"]


class Talk:
    """The client's end of a bridge that runs in a thread."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._in: queue.Queue[bytes] = queue.Queue()
        self._out: queue.Queue[bytes] = queue.Queue()
        self._bridge = Bridge(endpoint, self._out.put)
        self._thread = threading.Thread(target=self._bridge.run, args=(self._in.get,), daemon=True)
        self._thread.start()

    def send(self, line: bytes) -> None:
        self._in.put(line + b"\n")

    def say(self, method: str, request_id: Any = None, **params: Any) -> None:
        told: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        self.send(json.dumps(told if request_id is None else {**told, "id": request_id}).encode())

    def line(self) -> Any:
        """The next line for the client."""
        return json.loads(self._out.get(timeout=SECONDS))

    def ask(self, method: str, request_id: Any = 1, **params: Any) -> Any:
        self.say(method, request_id, **params)
        return self.line()

    def is_quiet(self) -> bool:
        return self._out.empty()

    def end(self) -> None:
        """Close the client's end, and wait until the bridge has ended."""
        self._in.put(b"")
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def talk(peer: Peer) -> Iterator[Talk]:
    made = Talk(Endpoint(peer.locate))
    yield made
    made.end()
