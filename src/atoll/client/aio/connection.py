"""Requests of the asynchronous client: retried, with an id each, answered whole or as they come.

Credentials never follow a redirect, and no cookie of a server is kept.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Self, TypeVar

import aiohttp

from atoll.client.aio.retries import Body, Retries, is_whole
from atoll.client.fields import Shape
from atoll.client.server import NOT_RUNNING, Server
from atoll.client.transport import (
    ANSWER_BYTES,
    CONNECT_SECONDS,
    LINE_BYTES,
    PROBLEM_BYTES,
    Call,
    problem_of,
)
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.wire.http.request_id import HEADER

S = TypeVar("S", bound=Shape)

AGENT = "atoll-client"
MAX_FRAME_BYTES = 4 * 1024 * 1024
PIECE_BYTES = 65536


class Answer:
    """An answer whose body is still arriving."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status

    def header(self, name: str) -> str | None:
        """Return a header of the answer."""
        return self._response.headers.get(name)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes. Raises `Unavailable` when it breaks off."""
        with _translate_errors(self._response.request_info.real_url.host or ""):
            async for piece in self._response.content.iter_chunked(PIECE_BYTES):
                yield piece

    async def body(self, most: int = ANSWER_BYTES) -> bytes:
        """Return the whole body. Raises `Failed` beyond `most` bytes."""
        content = bytearray()
        async for piece in self.pieces():
            content += piece
            if len(content) > most:
                raise Failed("the server sent an answer too long to be one of ours")
        return bytes(content)

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield lines without their end. Raises `Failed` for one beyond `LINE_BYTES`."""
        pending = b""
        async for piece in self.pieces():
            *whole, pending = (pending + piece).split(b"\n")
            for line in whole:
                yield line.removesuffix(b"\r")
            if len(pending) > LINE_BYTES:
                raise Failed("the server sent a line too long to be one of ours")
        if pending:
            yield pending


class Connection:
    """The control plane's HTTP API, over pooled connections. An `async with` opens it."""

    def __init__(self, locate: Callable[[], Server], retries: Retries) -> None:
        """Ask `locate` for the server at each request: a restarted server may have another port."""
        self._locate = locate
        self._retries = retries
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the pool. Nothing is sent yet."""
        trace = aiohttp.TraceConfig()
        trace.on_request_redirect.append(_refuse_redirect)
        # No bound of our own: streams take a connection each, for as long as they last.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            trust_env=False,
            auto_decompress=False,
            trace_configs=[trace],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
        self._session = None

    async def call(self, call: Call, body: Body = None) -> Shape:
        """Send and read the whole JSON answer; an empty one is `Shape({})`. `body` takes the place
        of the one in `call`."""
        async with self.open(call, body) as answer:
            content = await answer.body()
        if not content:
            return Shape({})
        try:
            return Shape.read(json.loads(content))
        except ValueError as problem:
            raise Failed(
                f"{call.method} {call.path} was not answered with JSON: is this an Atoll server?"
            ) from problem

    async def read(self, shape: type[S], call: Call) -> S:
        """Send and read the whole JSON answer as this shape."""
        return shape((await self.call(call)).value)

    @asynccontextmanager
    async def open(self, call: Call, body: Body = None) -> AsyncIterator[Answer]:
        """Send and hand out the answer while it arrives; leaving the context aborts it."""
        response = await self._request(call, call.body if body is None else body)
        try:
            yield Answer(response)
        finally:
            response.close() if not response.content.is_eof() else response.release()

    async def _request(self, call: Call, body: Body) -> aiohttp.ClientResponse:
        attempt, request_id = 1, uuid.uuid4().hex
        problem: AtollError
        while True:
            try:
                response = await self._send(call, body, request_id)
            except Unavailable as error:
                error.request_id = request_id
                problem, pause = error, self._retries.after_silence(call, attempt)
            else:
                if response.status < 300:
                    return response
                problem = await _problem(response)
                after = response.headers.get("Retry-After")
                pause = self._retries.after_answer(call, problem, after, attempt)
            if pause is None or not is_whole(body):
                raise problem
            await asyncio.sleep(pause)
            attempt += 1

    async def _send(self, call: Call, body: Body, request_id: str) -> aiohttp.ClientResponse:
        server = self._locate()
        with _translate_errors(server.url):
            return await self._open_session().request(
                call.method,
                server.url + call.path,
                params=call.query,
                headers={**_headers(server), HEADER: request_id, **dict(call.headers)},
                data=_stream_body(body),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=CONNECT_SECONDS, sock_read=call.timeout
                ),
            )

    async def socket(self, path: str, query: Mapping[str, str]) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket below the API. Raises what a request raises; redirects are refused."""
        server = self._locate()
        url = server.url.replace("http", "ws", 1) + path
        with _translate_errors(server.url):
            try:
                return await self._open_session().ws_connect(
                    url,
                    params=query,
                    headers=_headers(server),
                    max_msg_size=MAX_FRAME_BYTES,
                    compress=0,
                )
            except aiohttp.WSServerHandshakeError as refused:
                raise problem_of(refused.status, b"") from refused

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("this client is not open: use it in an `async with`")
        return self._session


async def _refuse_redirect(*_: object) -> None:
    """Stop before a WebSocket takes the credentials to another address."""
    raise aiohttp.ClientError("it redirects, and credentials never follow")


def _headers(server: Server) -> dict[str, str]:
    return {"Accept": "application/json", **server.credentials(), "User-Agent": AGENT}


def _stream_body(body: Body) -> bytes | AsyncIterable[bytes] | None:
    if body is None or isinstance(body, bytes | AsyncIterable):
        return body
    return _stream_pieces(body)


async def _stream_pieces(body: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in body:
        yield piece


async def _problem(response: aiohttp.ClientResponse) -> AtollError:
    with _translate_errors(str(response.url)):
        document = await response.content.read(PROBLEM_BYTES)
    response.close()
    return problem_of(response.status, document, request_id=response.headers.get(HEADER))


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, aiohttp.ServerTimeoutError) as problem:
        raise Unavailable(
            "the server did not answer in time: try again, and see `atoll doctor`", code="timeout"
        ) from problem
    except aiohttp.ClientSSLError as problem:
        raise Failed(f"no secure connection to {url}: {problem.strerror or problem}") from problem
    except aiohttp.ClientConnectorError as problem:
        raise Unavailable(
            f"{NOT_RUNNING} ({url} cannot be reached: {problem.strerror})"
        ) from problem
    except (aiohttp.ClientError, OSError) as problem:
        raise Unavailable(f"the connection to the server broke ({problem}): try again") from problem
