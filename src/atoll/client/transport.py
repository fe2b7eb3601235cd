"""The HTTP client of the command line: one request, one answer, or a body as it comes.

Blocking, over sockets of the standard library: it loads in a tenth of the time an
asynchronous one takes, and a command does one thing. Only `attach` needs an event loop.
Problem documents become `atoll.domain.errors`; nothing here prints.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar, cast

from atoll.client.fields import Shape, number, text
from atoll.client.http1 import Exchange, connect
from atoll.client.server import NOT_RUNNING, Server
from atoll.domain.error_status import kind_of
from atoll.domain.errors import (
    AtollError,
    Failed,
    Invalid,
    StaleCursor,
    Unavailable,
)
from atoll.wire.http.request_id import HEADER, read_request_id

S = TypeVar("S", bound=Shape)
B = TypeVar("B", bound=Mapping[str, object])

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
LINE_BYTES = 32 * 1024 * 1024
"""Longest line of a stream we accept: a stream is read from the server, not trusted."""

PROBLEM_BYTES = 65536
ANSWER_BYTES = 64 * 1024 * 1024
"""Longest JSON answer we accept."""

_NOTHING: tuple[object, ...] = (None, (), [], {})
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+").fullmatch
_QUOTED = re.compile(r"(?<!\w)'[^']+'(?!\w)").search

Pairs = tuple[tuple[str, str], ...]


class Call(NamedTuple):  # a data class would load `inspect`, at every start of `atoll`
    """Request of the client. `body` is whole or a stream; `timeout` is the longest silence in
    seconds, None for a stream that may be quiet for ever."""

    method: str
    path: str
    query: Pairs = ()
    headers: Pairs = ()
    body: bytes | Iterable[bytes] | None = None
    timeout: float | None = ANSWER_SECONDS


def api_path(*segments: str) -> str:
    """Return `/v1/…` with every segment quoted, so that a name can never become a path. Raises
    `Invalid` for an empty segment, which would name its parent."""
    if "" in segments:
        raise Invalid("a name or id is empty: give one (`atoll list` shows the names)")
    return "/v1/" + "/".join(map(_quote, segments))


def _quote(text: str) -> str:
    if _PLAIN(text):
        return text
    from urllib.parse import quote  # loaded late: most names and ids need none

    return quote(text, safe="")


def get(*segments: str, query: Pairs = ()) -> Call:
    """Return a GET below `/v1`."""
    return Call("GET", api_path(*segments), query)


def post(*segments: str, value: Mapping[str, object] | None = None, query: Pairs = ()) -> Call:
    """Return a POST below `/v1` with a JSON body."""
    body = json.dumps({} if value is None else value).encode()
    return Call("POST", api_path(*segments), query, (("Content-Type", "application/json"),), body)


def put(*segments: str, value: Mapping[str, object] | None = None) -> Call:
    """Return a PUT below `/v1` with a JSON body."""
    body = json.dumps({} if value is None else value).encode()
    return Call("PUT", api_path(*segments), (), (("Content-Type", "application/json"),), body)


def patch(*segments: str, value: Mapping[str, object]) -> Call:
    """Return a PATCH below `/v1` with a JSON body."""
    body = json.dumps(value).encode()
    return Call("PATCH", api_path(*segments), (), (("Content-Type", "application/json"),), body)


def query_of(**values: str | float | bool | Sequence[str] | None) -> Pairs:
    """Return the parameters of a query that are given, as text. A list is given item by item."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, bool):
            pairs.append((name, str(value).lower()))
        elif isinstance(value, str | int | float):
            pairs.append((name, str(value)))
        elif value is not None:
            pairs += [(name, word) for word in value]
    return tuple(pairs)


def omit_absent(**values: object) -> Mapping[str, object]:
    """Return the fields of a body without those that are None."""
    return {name: value for name, value in values.items() if value is not None}


def omit_empty(body: B) -> B:
    """Return the body without what was not given: null, and empty lists and objects."""
    return cast("B", {name: value for name, value in body.items() if value not in _NOTHING})


class Stream:
    """An answer whose body is still arriving."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.status = exchange.status

    def header(self, name: str) -> str | None:
        """Return a header of the answer."""
        return self._exchange.headers.get(name.lower())

    def read(self, size: int = 65536) -> bytes:
        """Return at most `size` bytes as they came; empty at the end. Raises `Unavailable`."""
        with _translate_errors():
            return self._exchange.read(size)

    def lines(self) -> Iterator[bytes]:
        """Yield lines without their end. Raises `Unavailable` when the stream breaks off, `Failed`
        for a line beyond `LINE_BYTES`."""
        pending = bytearray()
        while data := self.read():
            searched = len(pending)
            pending += data
            if data.find(b"\n") >= 0:
                *lines, rest = bytes(pending).split(b"\n")
                pending = bytearray(rest)
                for line in lines:
                    yield line.rstrip(b"\r")
            elif searched > LINE_BYTES:
                raise Failed("the server sent a line too long to be one of ours")
        if pending:
            yield bytes(pending).rstrip(b"\r")


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
        with self.open(call) as stream, _translate_errors():
            body = read_whole(stream)
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

    def read_all(self, shape: type[S], call: Call) -> S:
        """Send and read a list of `cursor` and `next`, all pages of it as one answer."""
        first = self.call(call).value
        lists = {name: list(rows) for name, rows in first.items() if isinstance(rows, list)}
        following = first.get("next")
        while following is not None:
            query = (*call.query, ("cursor", str(following)))
            page = self.call(call._replace(query=query)).value
            for name, rows in lists.items():
                more = page.get(name)
                rows += more if isinstance(more, list) else []
            following = page.get("next")
        return shape({**first, **lists, "next": None})

    @contextmanager
    def open(self, call: Call) -> Iterator[Stream]:
        """Send and hand out the answer while it arrives; leaving the context aborts it."""
        server = self._locate()
        with _translate_errors(server.url):
            exchange = connect(
                server.host, server.port, secure=server.secure, seconds=CONNECT_SECONDS
            )
        try:
            exchange.wait_at_most(call.timeout)
            with _translate_errors():
                _send(exchange, server, call)
                exchange.receive_head()
            stream = Stream(exchange)
            if stream.status >= 300:
                named = stream.header(HEADER)
                raise problem_of(stream.status, _at_most(stream, PROBLEM_BYTES), request_id=named)
            yield stream
        finally:
            exchange.close()


def read_whole(stream: Stream, most: int = ANSWER_BYTES) -> bytes:
    """Return the body of an answer. Raises `Failed` beyond `most` bytes: the server of a link may
    be anybody's."""
    body = bytearray()
    while piece := stream.read():
        body += piece
        if len(body) > most:
            raise Failed("the server sent an answer too long to be one of ours")
    return bytes(body)


class _Problem(Shape):
    """A problem document."""

    code = text()
    title = text()
    detail = text()
    field = text()
    request_id = text()
    resume_after = number()


def problem_of(status: int, body: bytes, *, request_id: str | None = None) -> AtollError:
    """Return the error a problem document (RFC 9457) stands for; works without one, too. The
    document's own request id goes before the header's."""
    kind = kind_of(status)
    named = read_request_id(request_id)
    try:
        document = _Problem.read(json.loads(body))
        detail = document.detail or document.title
        code, where = document.code, document.field
        named = read_request_id(document.request_id) or named
    except (ValueError, AtollError):
        return kind(
            f"the server answered {status} and gave no reason: check that its address is that of "
            "an Atoll server, else see its log",
            request_id=named,
        )
    message = detail or f"the server answered {status}"
    if code == StaleCursor.default_code:
        return StaleCursor(message, resume_after=document.resume_after, request_id=named)
    if where and not _names(message, where):
        message = f"{where}: {message}"
    return kind(message, code=code or None, field=where or None, request_id=named)


def _names(message: str, field: str) -> bool:
    """Report whether a message says which input it is about: by the field's name as a word, or by
    a quoted value. An apostrophe quotes nothing."""
    spelled = re.escape(field).replace("_", "[_ -]")
    named = re.search(rf"(?<!\w){spelled}(?!\w)", message, re.IGNORECASE)
    return named is not None or _QUOTED(message) is not None


def _at_most(stream: Stream, size: int) -> bytes:
    body = b""
    while len(body) < size and (data := stream.read(size - len(body))):
        body += data
    return body


def _send(exchange: Exchange, server: Server, call: Call) -> None:
    target = server.prefix + call.path
    if call.query:
        target += "?" + "&".join(f"{_quote(key)}={_quote(text)}" for key, text in call.query)
    headers = {
        "Accept": "application/json",
        **server.credentials(),
        "User-Agent": "atoll-cli",
        **dict(call.headers),
    }
    try:
        exchange.send(call.method, target, headers, call.body)
    except (BrokenPipeError, ConnectionResetError):
        # The server may refuse an upload before its end; its reason is worth more than ours.
        if call.body is None:
            raise


@contextmanager
def _translate_errors(url: str = "") -> Iterator[None]:
    try:
        yield
    except ConnectionRefusedError as problem:
        where = f" (nothing listens at {url})" if url else ""
        raise Unavailable(NOT_RUNNING + where) from problem
    except TimeoutError as problem:
        raise Unavailable(
            "the server did not answer in time: try again, and see `atoll doctor`", code="timeout"
        ) from problem
    except OSError as problem:
        if type(problem).__module__ == "ssl":  # not loaded unless it was used
            why = _tls_reason(problem)
            raise Failed(f"no secure connection to {url or 'the server'}: {why}") from problem
        if type(problem).__name__ == "gaierror":
            raise Unavailable(
                f"the name in {url or 'the address'} is not known here: check how it is spelled, "
                "and this machine's network"
            ) from problem
        reason = problem.strerror or str(problem) or type(problem).__name__
        raise Unavailable(f"the connection to the server broke ({reason}): try again") from problem


def _tls_reason(problem: OSError) -> str:
    """Return what is wrong with a server's TLS, without OpenSSL's spelling of it."""
    if message := getattr(problem, "verify_message", ""):
        return f"its certificate is not trusted ({message})"
    reason = getattr(problem, "reason", None)
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "it does not speak TLS there: use http:// or another port"
    return str(reason or problem.strerror or problem).replace("_", " ").lower()
