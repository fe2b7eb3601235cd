"""RuntimeClients over aiohttp: one pool of connections per runtime, on a unix socket or TCP.

It sends calls, moves streams and frames, and turns every transport error into `Unavailable` and a
problem document into its error. `wire.contract` defines their meaning.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from typing import TypeVar

import aiohttp
import msgspec
from yarl import URL

from atoll.adapters.runtimes.channel_pipe import (
    ChannelConnection,
    ChannelPipe,
    start_program,
)
from atoll.adapters.runtimes.correlation import correlation_headers
from atoll.adapters.runtimes.unix_handover import UnixHandoverLink, unix_handover_link
from atoll.adapters.runtimes.ws_channel import WsChannel
from atoll.domain.error_status import kind_of
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Invalid,
    NoConnection,
    NotFound,
    Unavailable,
)
from atoll.ports.extension import Reachability
from atoll.ports.runtime import Channel, RuntimeClient, RuntimeStream
from atoll.wire.contract.call import Query, RuntimeCall
from atoll.wire.contract.exec_pipe import PATH as PIPE_PATH
from atoll.wire.contract.exec_pipe import PipeBody
from atoll.wire.contract.journal import CODE_HEADER, FALLING_ASLEEP
from atoll.wire.contract.ports import CONNECTIONS_PATH, SOCKETS_PATH
from atoll.wire.http.unreadable import UNREADABLE

T = TypeVar("T")

MAX_PROBLEM_BYTES = 65536
_NOT_FOUND = 404
_REASONS = {
    "no_such_file": "there is no such socket",
    "nobody_listens": "nothing listens there",
    "not_a_socket": "that is no socket",
    "outside_workspace": "a link on the way leads out of its folder",
    "no_permission": "the mode of the socket or its folder does not allow it",
    "invalid_path": "this path cannot be used",
    "limit_reached": "too many connections are open",
}
"""Words for codes: of a refused WebSocket the body is not read."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The bounds of the connections. Times in seconds.

    `quick_seconds` bounds a whole GET, PUT or DELETE. A POST (an exec that waits) and a stream may
    take as long as the work takes.
    """

    connect_seconds: float = 5.0
    quick_seconds: float = 60.0
    keepalive_seconds: float = 60.0
    max_reply_bytes: int = 256 * 1024 * 1024
    max_frame_bytes: int = 4 * 1024 * 1024
    max_runtimes: int = 1024


@dataclass(slots=True)
class _Pool:
    """The connections to one runtime, and the number of requests that use them now."""

    session: aiohttp.ClientSession
    root: URL
    users: int = field(default=0)


class _Problem(msgspec.Struct):
    """The members of an RFC 9457 document that are passed on."""

    code: str | None = None
    detail: str | None = None
    title: str | None = None
    field: str | None = None


Refused = Callable[[int, str | None], AtollError]
"""The error for the status and the code with which a WebSocket was refused."""


def _refused_terminal(status: int, _code: str | None) -> AtollError:
    if status == _NOT_FOUND:
        return NotFound("there is no such terminal; list the terminals")
    return Unavailable(f"the runtime refused the connection with {status}; try again shortly")


def _refused_connection(status: int, code: str | None) -> AtollError:
    if status == _NOT_FOUND and code in (None, NotFound.default_code):
        return Conflict(
            "the sandbox's runtime is older than this server and cannot do this; stop and start "
            "the sandbox",
            code="runtime_outdated",
        )
    reason = _REASONS.get(code or "", f"refused with {status} {code or ''}".rstrip())
    return kind_of(status)(f"cannot connect inside the sandbox: {reason}", code=code)


class HttpRuntimeClients:
    """The `ports.runtime.RuntimeClients` over aiohttp. Make it inside a running event loop."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._pools: OrderedDict[tuple[str, str | None], _Pool] = OrderedDict()
        self._closed = False

    def client(self, reach: Reachability) -> RuntimeClient:
        """Return the client of one runtime; does not connect. Raises `Failed` on an address that is
        neither `unix:/path` nor `http(s)://host:port`."""
        _check_address(reach.address)
        return _HttpRuntimeClient(self, reach)

    async def close(self) -> None:
        """Close every connection; later requests raise `Unavailable`."""
        self._closed = True
        pools, self._pools = self._pools, OrderedDict()
        for pool in pools.values():
            await pool.session.close()

    @asynccontextmanager
    async def acquire(self, reach: Reachability) -> AsyncIterator[_Pool]:
        """Yield the pool of one address for the length of one request."""
        if self._closed:
            raise Unavailable("the control plane is shutting down; try again shortly")
        pool = self._pool(reach)
        pool.users += 1
        try:
            yield pool
        finally:
            pool.users -= 1
            await self._shed()

    @property
    def settings(self) -> Settings:
        """The bounds."""
        return self._settings

    @property
    def held(self) -> int:
        """The number of runtimes with connections here."""
        return len(self._pools)

    def _pool(self, reach: Reachability) -> _Pool:
        key = (reach.address, reach.token)
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = _open_pool(reach, self._settings)
        self._pools.move_to_end(key)
        return pool

    async def _shed(self) -> None:
        # Runtimes come and go while the process stays: the longest unused pools are closed.
        while len(self._pools) > self._settings.max_runtimes:
            idle = next((key for key, pool in self._pools.items() if not pool.users), None)
            if idle is None:
                return
            await self._pools.pop(idle).session.close()


class _HttpRuntimeClient:
    """The `ports.runtime.RuntimeClient` of one address."""

    def __init__(self, clients: HttpRuntimeClients, reach: Reachability) -> None:
        self._clients = clients
        self._reach = reach

    async def call(self, call: RuntimeCall[T]) -> T:
        """Send a request and read the whole response, within a bound."""
        settings = self._clients.settings
        quick = call.method != "POST" and (call.body is None or isinstance(call.body, bytes))
        total = settings.quick_seconds if quick else None
        async with self._clients.acquire(self._reach) as pool:
            answer = await _send(pool, call, total)
            try:
                body = await _read_bounded(answer, settings.max_reply_bytes)
            finally:
                answer.close()
            return read_answer(call, answer.status, body)

    def stream(self, call: RuntimeCall[bytes]) -> AbstractAsyncContextManager[RuntimeStream]:
        """Send a request and read the response as it arrives. Leaving the context aborts an
        unfinished response."""
        return self._stream(call)

    @asynccontextmanager
    async def _stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
        async with self._clients.acquire(self._reach) as pool:
            answer = await _send(pool, call, None)
            try:
                if answer.status >= 400:
                    body = await _read_bounded(answer, MAX_PROBLEM_BYTES)
                    raise problem(answer.status, body)
                yield RuntimeStream(answer.status, _headers(answer), _chunks(answer))
            finally:
                # Nothing to close once the body was read: its connection is back in the pool.
                answer.close()

    def attach(self, path: str, query: Query = ()) -> AbstractAsyncContextManager[Channel]:
        """Open a WebSocket; leaving closes it. Raises `Unavailable` when the runtime refuses."""
        return self._attach(path, query)

    @asynccontextmanager
    async def _attach(
        self, path: str, query: Query, refused: Refused = _refused_terminal
    ) -> AsyncIterator[Channel]:
        settings = self._clients.settings
        async with self._clients.acquire(self._reach) as pool:
            url = _url(pool.root, path, query)
            with _transport_errors(refused):
                async with asyncio.timeout(settings.connect_seconds):
                    socket = await pool.session.ws_connect(
                        url,
                        headers=correlation_headers(),
                        max_msg_size=settings.max_frame_bytes,
                        compress=0,
                    )
            channel = WsChannel(socket)
            try:
                yield channel
            finally:
                await channel.close()

    @asynccontextmanager
    async def pipe(self, body: PipeBody) -> AsyncIterator[ChannelPipe]:
        """Start a program by its streams. Raises the error for which the runtime refuses it."""
        async with self._attach(PIPE_PATH, (), _refused_connection) as channel:
            yield await start_program(channel, body)

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ChannelConnection]:
        """Connect to a socket inside. Raises the error for which the runtime refuses it."""
        query = (("path", path),)
        async with self._attach(SOCKETS_PATH, query, _refused_connection) as channel:
            yield ChannelConnection(channel)

    @asynccontextmanager
    async def port(self, number: int) -> AsyncIterator[ChannelConnection]:
        """Connect to a port inside. Raises the error for which the runtime refuses it."""
        path = f"{CONNECTIONS_PATH}/{number}"
        async with self._attach(path, (), _refused_connection) as channel:
            yield ChannelConnection(channel)

    def request_handover(
        self, path: str, query: Query = ()
    ) -> AbstractAsyncContextManager[UnixHandoverLink | None]:
        """Request an attach session for a client's own connection; only a runtime on a unix socket
        offers them."""
        address, token = self._reach.address, self._reach.token
        if not address.startswith("unix:"):
            return nullcontext()
        _check_path(path)
        return unix_handover_link(address.removeprefix("unix:"), path, query, token)


def read_answer(call: RuntimeCall[T], status: int, body: bytes) -> T:
    """Return the value of a response. Raises the error that a problem document stands for, and
    `Failed` for a response outside the contract."""
    if status >= 400:
        raise problem(status, body)
    try:
        return call.read(status, body)
    except UNREADABLE as err:
        raise Failed(f"The sandbox's runtime answered what it should not: {err}.") from err


def problem(status: int, body: bytes) -> AtollError:
    """Return the error that a response stands for."""
    try:
        found = msgspec.json.decode(body, type=_Problem)
    except UNREADABLE:
        found = _Problem()
    words = found.detail or found.title or f"The sandbox's runtime answered with status {status}."
    return kind_of(status)(words, code=found.code, field=found.field)


@contextmanager
def _transport_errors(refused: Refused = _refused_terminal) -> Iterator[None]:
    try:
        yield
    except aiohttp.WSServerHandshakeError as error:
        code = None if error.headers is None else error.headers.get(CODE_HEADER)
        if code == FALLING_ASLEEP:
            raise Conflict("the sandbox falls asleep", code=FALLING_ASLEEP) from error
        raise refused(error.status, code) from error
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        kind = NoConnection if isinstance(error, aiohttp.ClientConnectorError) else Unavailable
        raise kind(
            f"the sandbox's runtime does not answer ({_reason(error)}); try again shortly"
        ) from error


def _check_address(address: str) -> None:
    if not address.startswith(("unix:/", "http://", "https://")):
        raise Failed(f"a runtime at {address!r} cannot be reached: no such kind of address")


def _open_pool(reach: Reachability, settings: Settings) -> _Pool:
    keep = settings.keepalive_seconds
    connector: aiohttp.BaseConnector
    if reach.address.startswith("unix:"):
        path = reach.address.removeprefix("unix:")
        connector = aiohttp.UnixConnector(path, limit=0, keepalive_timeout=keep)
        root = URL("http://runtime")
    else:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=keep)
        root = URL(reach.address)
    headers = {"Authorization": f"Bearer {reach.token}"} if reach.token else {}
    session = aiohttp.ClientSession(
        connector=connector,
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_seconds),
        auto_decompress=False,
        trust_env=False,
    )
    return _Pool(session, root)


def _url(root: URL, path: str, query: Query) -> URL:
    _check_path(path)
    return root.with_path(path).with_query(query) if query else root.with_path(path)


def _check_path(path: str) -> None:
    if not path.startswith("/") or any(part in {".", ".."} for part in path.split("/")):
        raise Invalid(f"{path!r} is not a path of the runtime contract")


async def _send(pool: _Pool, call: RuntimeCall[T], total: float | None) -> aiohttp.ClientResponse:
    timeout = aiohttp.ClientTimeout(total=total, sock_connect=pool.session.timeout.sock_connect)
    with _transport_errors():
        return await pool.session.request(
            call.method,
            _url(pool.root, call.path, call.query),
            headers=(*call.headers, *correlation_headers()),
            data=call.body,
            timeout=timeout,
            # A redirect out of a sandbox's runtime is never followed.
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
        )


async def _read_bounded(answer: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    parts = bytearray()
    with _transport_errors():
        async for part in answer.content.iter_any():
            parts += part
            if len(parts) > max_bytes:
                raise Failed(f"the runtime's answer is larger than {max_bytes} bytes")
    return bytes(parts)


async def _chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    while True:
        with _transport_errors():
            part = await answer.content.readany()
        if not part:
            return
        yield part


def _headers(answer: aiohttp.ClientResponse) -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), value) for name, value in answer.headers.items())


def _reason(error: BaseException) -> str:
    # aiohttp's own texts name socket paths of this host, which a client does not need.
    cause = getattr(error, "os_error", None) or error
    return getattr(cause, "strerror", None) or type(error).__name__
