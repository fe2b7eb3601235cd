"""The endpoint `/mcp` of a control plane: each message is one request on a connection of its own.

A request waits until the control plane listens, and is sent once: until its connection is open
nothing of it was sent, and afterwards it is never sent again.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Final, NamedTuple

from atoll.client.bridge.messages import Message
from atoll.client.fields import Json
from atoll.client.http1 import Exchange, connect
from atoll.client.server import Server
from atoll.client.transport import problem_of
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.wire.http.server_sent import ServerSent, ServerSentLines

AWAY_SECONDS: Final = 15.0
"""The longest wait for a control plane that is away."""

RETRY_SECONDS: Final = 0.1
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 120.0
"""The longest silence before an answer begins, and within one that is not a stream."""

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
MAX_PROBLEM_BYTES: Final = 64 * 1024
_OK = 300


class McpOptions(NamedTuple):
    """Options of a client: with `sandbox` the tools of the one it names, with `flat` names without
    dots, with `outside` what reaches outside its home, too."""

    sandbox: str = ""
    flat: bool = False
    outside: bool = False


PLAIN: Final = McpOptions()
"""The options of most clients."""


def target_of(server: Server, options: McpOptions) -> str:
    """Return the path and query of the endpoint. Who comes by the token of a home is anonymous, and
    reaches no further than that home, unless its person says so."""
    from urllib.parse import urlencode

    query = {"sandbox": options.sandbox} if options.sandbox else {}
    if options.flat:
        query["names"] = "flat"
    if server.by_home and not options.outside:
        query["reach"] = "home"
    return f"{server.prefix}/mcp?{urlencode(query)}" if query else f"{server.prefix}/mcp"


class OpenRequest:
    """A request under way, which another thread may cancel. `streams` once its answer is a
    stream."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._exchange: Exchange | None = None
        self.cancelled = False
        self.streams = False

    def carry(self, exchange: Exchange) -> None:
        """Take the connection over. Raises `RequestCancelled`."""
        with self._lock:
            self._exchange = exchange
            if self.cancelled:
                raise RequestCancelled

    def cancel(self) -> None:
        """Give up the answer, and end the connection."""
        with self._lock:
            self.cancelled = True
            if self._exchange is not None:
                self._exchange.abort()


class RequestCancelled(Exception):
    """The end of a request whose answer nobody wants any more."""


class McpAnswer:
    """The answer to one request, while it arrives."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.status = exchange.status

    @property
    def session(self) -> str:
        """Return the id of the session that it begins; empty for none."""
        return self._exchange.headers.get("mcp-session-id", "")

    @property
    def is_stream(self) -> bool:
        """Report whether it is a stream of events."""
        return self._kind == "text/event-stream" and self.status < _OK

    @property
    def _kind(self) -> str:
        return self._exchange.headers.get("content-type", "").partition(";")[0].strip().lower()

    def whole(self) -> bytes:
        """Return the body. Raises `Failed` for one that is too long, `Unavailable`."""
        most = MAX_ANSWER_BYTES if self.status < _OK else MAX_PROBLEM_BYTES
        body = bytearray()
        while piece := self._read():
            body += piece
            if len(body) > most:
                raise Failed("the server sent an answer too long to be one of ours")
        return bytes(body)

    def events(self, *, silence: float | None) -> Iterator[ServerSent]:
        """Yield the events of a stream until it ends. `silence` is the longest one in seconds.
        Raises `Unavailable`."""
        self._exchange.wait_at_most(silence)
        lines, pending = ServerSentLines(longest=MAX_ANSWER_BYTES), bytearray()
        while piece := self._read():
            pending += piece
            if b"\n" in piece:
                *whole, rest = pending.split(b"\n")
                pending = rest
                for line in whole:
                    if event := lines.read(bytes(line.rstrip(b"\r"))):
                        yield event
            if len(pending) > MAX_ANSWER_BYTES:
                raise Failed("the server sent a line too long to be one of ours")

    def refusal(self) -> AtollError | dict[str, Json]:
        """Return why the server refused: the error of the protocol, or one of ours."""
        body = self.whole()
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        error = document.get("error") if isinstance(document, dict) else None
        if isinstance(error, dict) and isinstance(error.get("code"), int):
            return error
        return problem_of(self.status, body)

    def close(self) -> None:
        """Close the connection."""
        self._exchange.close()

    def _read(self) -> bytes:
        try:
            return self._exchange.read()
        except OSError as error:
            raise lost_answer(error) from error


class Endpoint:
    """The endpoint, wherever the control plane is. `locate` is called at each attempt: a restarted
    one may have another port. `sleep` and `clock` are others for tests."""

    def __init__(
        self,
        locate: Callable[[], Server],
        options: McpOptions = PLAIN,
        *,
        away_seconds: float = AWAY_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._locate = locate
        self._options = options
        self._away_seconds = away_seconds
        self._sleep = sleep
        self._clock = clock

    def post(self, message: Message, headers: Mapping[str, str], pending: OpenRequest) -> McpAnswer:
        """Send a message, once the control plane listens. Raises `RequestCancelled`, and the
        classes of `atoll.domain.errors`."""
        fields = {"Content-Type": "application/json", **headers}
        return self._ask(_Request("POST", fields, message.body), pending)

    def stream(self, headers: Mapping[str, str], pending: OpenRequest) -> McpAnswer:
        """Open the standing stream of a session. Raises as `post` does."""
        return self._ask(_Request("GET", headers), pending)

    def end(self, headers: Mapping[str, str]) -> None:
        """End a session, if the control plane is there. Raises as `post` does."""
        server = self._locate()
        exchange = self._connect_to(server)
        if exchange is not None:
            self._send(exchange, server, _Request("DELETE", headers)).close()

    def _ask(self, request: "_Request", pending: OpenRequest) -> McpAnswer:
        server, exchange = self._reach(pending)
        try:
            pending.carry(exchange)
        except RequestCancelled:
            exchange.close()
            raise
        return self._send(exchange, server, request)

    def _reach(self, pending: OpenRequest) -> tuple[Server, Exchange]:
        """Return an open connection. Raises `Unavailable` after the longest wait."""
        until = self._clock() + self._away_seconds
        while not pending.cancelled:
            try:
                server = self._locate()
                exchange = self._connect_to(server)
            except Unavailable:
                exchange = None
            else:
                if exchange is not None:
                    return server, exchange
            if self._clock() >= until:
                raise Unavailable(
                    "Atoll is away, so this was not sent: call again in a while",
                    code="upstream_unreachable",
                )
            self._sleep(RETRY_SECONDS)
        raise RequestCancelled

    def _connect_to(self, server: Server) -> Exchange | None:
        """Return a connection to the server; None when it cannot be reached. Raises `Failed`."""
        try:
            return connect(server.host, server.port, secure=server.secure, seconds=CONNECT_SECONDS)
        except OSError as error:
            if type(error).__module__ == "ssl":
                raise Failed(f"no secure connection to {server.url}: {error.strerror}") from error
            return None

    def _send(self, exchange: Exchange, server: Server, request: "_Request") -> McpAnswer:
        streams = "text/event-stream"
        fields = {
            "Accept": streams if request.method == "GET" else f"application/json, {streams}",
            "User-Agent": "atoll-mcp",
            **server.credentials(),
            **request.headers,
        }
        exchange.wait_at_most(ANSWER_SECONDS)
        try:
            exchange.send(request.method, target_of(server, self._options), fields, request.body)
            exchange.receive_head()
        except OSError as error:
            exchange.close()
            raise lost_answer(error) from error
        except AtollError:
            exchange.close()
            raise
        return McpAnswer(exchange)


class _Request(NamedTuple):
    """A request as HTTP says it."""

    method: str
    headers: Mapping[str, str]
    body: bytes | None = None


def lost_answer(error: OSError) -> Unavailable:
    """Return the error of a request that was sent and whose answer was lost."""
    why = error.strerror or str(error) or type(error).__name__
    return Unavailable(
        f"the answer was lost ({why}); look before you call again, as it may have been done",
        code="reply_lost",
    )
