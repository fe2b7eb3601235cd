"""The HTTP client of the command line: one request, one answer, or a body as it comes.

Blocking and on the standard library's client: it loads in a tenth of the time an
asynchronous one takes, and a command does one thing. Only `attach` needs an event loop.
Problem documents become `atoll.domain.errors`; nothing here prints.
"""

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, urlencode

from atoll.client.fields import Shape, text
from atoll.client.server import NOT_RUNNING, Server
from atoll.domain.error_status import kind_of
from atoll.domain.errors import (
    AtollError,
    Failed,
    Invalid,
    Unavailable,
)

S = TypeVar("S", bound=Shape)

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
LINE_BYTES = 32 * 1024 * 1024
"""Longest line of a stream we accept: a stream is read from the server, not trusted."""

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """Request of the client. `body` is whole or a stream; `timeout` is the longest silence in
    seconds, None for a stream that may be quiet for ever."""

    method: str
    path: str
    query: Pairs = ()
    headers: Pairs = ()
    body: bytes | Iterable[bytes] | None = None
    timeout: float | None = ANSWER_SECONDS


def at(*segments: str) -> str:
    """Return `/v1/…` with every segment quoted, so that a name can never become a path. Raises
    `Invalid` for an empty segment, which would name its parent."""
    if "" in segments:
        raise Invalid("a name or id is empty: give one (`atoll list` shows the names)")
    return "/v1/" + "/".join(quote(segment, safe="") for segment in segments)


def get(*segments: str, query: Pairs = ()) -> Call:
    """Return a GET below `/v1`."""
    return Call("GET", at(*segments), query)


def post(*segments: str, value: Mapping[str, object] | None = None, query: Pairs = ()) -> Call:
    """Return a POST below `/v1` with a JSON body."""
    body = json.dumps({} if value is None else value).encode()
    return Call("POST", at(*segments), query, (("Content-Type", "application/json"),), body)


def put(*segments: str, value: Mapping[str, object]) -> Call:
    """Return a PUT below `/v1` with a JSON body."""
    body = json.dumps(value).encode()
    return Call("PUT", at(*segments), (), (("Content-Type", "application/json"),), body)


class Stream:
    """An answer whose body is still arriving."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status
        length = response.getheader("Content-Length") or ""
        # `http.client` ends quietly where a body of known length breaks off.
        self._left = int(length) if length.isdecimal() else None

    def header(self, name: str) -> str | None:
        """Return a header of the answer."""
        return self._response.getheader(name)

    def read(self, size: int = 65536) -> bytes:
        """Return at most `size` bytes as they came; empty at the end. Raises `Unavailable`."""
        with _translated():
            data = self._response.read1(size)
        if self._left is not None:
            self._left -= len(data)
            if not data and size and self._left > 0:
                raise Unavailable("the connection to the server broke before the end: try again")
        return data

    def lines(self) -> Iterator[bytes]:
        """Yield lines without their end. Raises `Unavailable` when the stream breaks off, `Failed`
        for a line beyond `LINE_BYTES`."""
        while True:
            with _translated():
                line = self._response.readline(LINE_BYTES)
            if not line:
                return
            if not line.endswith(b"\n") and len(line) >= LINE_BYTES:
                raise Failed("the server sent a line too long to be one of ours")
            yield line.rstrip(b"\r\n")


class Transport:
    """The control plane's HTTP API. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, locate: Callable[[], Server]) -> None:
        """Ask `locate` for the server at each request: a restarted server may have another port."""
        self._locate = locate

    @property
    def server(self) -> Server:
        """The server as of now. Raises what `find_server` raises."""
        return self._locate()

    def call(self, call: Call) -> Shape:
        """Send and read the whole JSON answer; an empty one is `Shape({})`."""
        with self.open(call) as stream, _translated():
            body = b"".join(iter(stream.read, b""))
        if not body:
            return Shape({})
        try:
            return Shape.read(json.loads(body))
        except ValueError as problem:
            raise Failed(
                f"{call.method} {call.path} was not answered with JSON: is this an Atoll server?"
            ) from problem

    def read(self, shape: type[S], call: Call) -> S:
        """Send and read the whole JSON answer as this shape."""
        return shape(self.call(call).value)

    @contextmanager
    def open(self, call: Call) -> Iterator[Stream]:
        """Send and hand out the answer while it arrives; leaving the context aborts it."""
        server = self._locate()
        connection = _connection(server)
        try:
            with _translated(server.url):
                connection.connect()
            connection.sock.settimeout(call.timeout)
            # Streams may be silent for hours; the kernel then notices a line that died.
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            with _translated():
                _send(connection, server, call)
                response = connection.getresponse()
            if response.status >= 300:
                with _translated():
                    problem = response.read(65536)
                raise problem_of(response.status, problem)
            yield Stream(response)
        finally:
            connection.close()


class _Problem(Shape):
    """A problem document."""

    code = text()
    title = text()
    detail = text()
    field = text()


def problem_of(status: int, body: bytes) -> AtollError:
    """Return the error a problem document (RFC 9457) stands for; works without one, too."""
    kind = kind_of(status)
    try:
        document = _Problem.read(json.loads(body))
        detail = document.detail or document.title
        code, where = document.code, document.field
    except (ValueError, AtollError):
        return kind(f"the server answered {status} without a reason: see the server's log")
    said = detail or f"the server answered {status}"
    if where and where not in said:
        said = f"{where}: {said}"
    return kind(said, code=code or None, field=where or None)


def _connection(server: Server) -> http.client.HTTPConnection:
    if server.secure:
        return http.client.HTTPSConnection(
            server.host,
            server.port,
            timeout=CONNECT_SECONDS,
            context=ssl.create_default_context(),
        )
    return http.client.HTTPConnection(server.host, server.port, timeout=CONNECT_SECONDS)


def _send(connection: http.client.HTTPConnection, server: Server, call: Call) -> None:
    target = server.prefix + call.path
    if call.query:
        target += "?" + urlencode(call.query)
    headers = {
        "Accept": "application/json",
        "Authorization": f"Bearer {server.token}",
        "User-Agent": "atoll-cli",
        **dict(call.headers),
    }
    chunked = call.body is not None and not isinstance(call.body, bytes)
    chunked = chunked and "Content-Length" not in headers
    if chunked:
        headers["Transfer-Encoding"] = "chunked"
    try:
        connection.request(
            call.method, target, body=call.body, headers=headers, encode_chunked=chunked
        )
    except (BrokenPipeError, ConnectionResetError):
        # The server may refuse an upload before its end; its reason is worth more than ours.
        if not chunked and call.body is None:
            raise


@contextmanager
def _translated(url: str = "") -> Iterator[None]:
    try:
        yield
    except ConnectionRefusedError as problem:
        where = f" (nothing listens at {url})" if url else ""
        raise Unavailable(NOT_RUNNING + where) from problem
    except TimeoutError as problem:
        raise Unavailable(
            "the server did not answer in time: try again, and see `atoll doctor`", code="timeout"
        ) from problem
    except ssl.SSLError as problem:
        raise Failed(f"no secure connection to {url or 'the server'}: {problem}") from problem
    except (OSError, http.client.HTTPException) as problem:
        said = str(problem) or type(problem).__name__
        raise Unavailable(f"the connection to the server broke ({said}): try again") from problem
