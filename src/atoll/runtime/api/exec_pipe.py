"""`WS /execs/pipe`: a program whose streams are the frames of one WebSocket.

Flow control is the connection's own: a client that does not read stops the program. The messages
are `wire.contract.exec_pipe`, the program is `runtime.execs.piped`.
"""

import asyncio
import contextlib
import signal
import socket

from aiohttp import WSMessage, WSMsgType, web

from atoll.domain.error_status import status_of
from atoll.domain.errors import AtollError, Conflict, Invalid
from atoll.domain.redaction.detector import Detector
from atoll.domain.redaction.sftp_contents import SftpContents
from atoll.runtime.api.parts import Parts, parts_of
from atoll.runtime.api.requests import check_argv, check_cwd, check_env
from atoll.runtime.execs.execs import ExecRequest
from atoll.runtime.execs.output_pipe import OutputPipe
from atoll.runtime.execs.piped import WINDOW_BYTES, PipedExec
from atoll.wire.contract import exec_pipe
from atoll.wire.contract.exec_pipe import PipeBody, Stream
from atoll.wire.http.unreadable import UNREADABLE

FIRST_SECONDS = 10.0
"""The time a client has for its first frame."""

CLOSE_SECONDS = 5.0
REFUSED = 1008
"""Close code after an error (RFC 6455 §7.4.1, policy violation)."""

SFTP = "sftp"
TOOLS = frozenset({SFTP})
"""The modes of init that may be run so."""

MAX_ACTOR = 256
_KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)


def routes() -> list[web.RouteDef]:
    """Return the route."""
    return [web.get(exec_pipe.PATH, _pipe)]


async def _pipe(request: web.Request) -> web.StreamResponse:
    client = web.WebSocketResponse(compress=False, max_msg_size=exec_pipe.MAX_FRAME_BYTES)
    if not client.can_prepare(request):
        raise Invalid("a pipe is a WebSocket: send an upgrade request")
    await client.prepare(request)
    _keep_alive(request)
    try:
        error = await _Session(client, parts_of(request)).serve()
        if error is None:
            await client.close()
        else:
            async with asyncio.timeout(CLOSE_SECONDS):
                await client.send_str(exec_pipe.encode(_failure(request, error)))
                await client.close(code=REFUSED)
    except (TimeoutError, ConnectionError):
        if request.transport is not None:
            request.transport.abort()
    return client


class _Session:
    """Session of a client with its program."""

    def __init__(self, client: web.WebSocketResponse, parts: Parts) -> None:
        self._client = client
        self._parts = parts
        self._fault: AtollError | None = None
        self._withheld = asyncio.Event()
        self._input_over = False
        self._guard: _ContentGuard | None = None

    async def serve(self) -> AtollError | None:
        """Run what the client asks for, until it has its end or left. Returns an error to report.
        Raises `ConnectionError` when there is nobody to report to, or nothing may be reported."""
        try:
            body = await self._read_body()
            request = _exec_request(body)
            if body.tool is not None:
                self._guard = _ContentGuard(self._parts, allowed=body.secrets == "allow")
            ending = self._parts.ending
            ending.check()
            async with self._parts.execs.pipe(request) as piped:
                ending.check()
                self._parts.activity.touch()
                await self._send(exec_pipe.ProgramStart(piped.spec.id, WINDOW_BYTES))
                await self._carry(piped)
        except AtollError as error:
            return error
        return self._fault

    async def _read_body(self) -> PipeBody:
        try:
            async with asyncio.timeout(FIRST_SECONDS):
                message = await self._client.receive()
        except TimeoutError as error:
            raise Invalid(f"no first frame came within {FIRST_SECONDS:g} s") from error
        if message.type is WSMsgType.BINARY:
            raise Invalid("the first frame is text: what to run")
        if message.type is not WSMsgType.TEXT:
            raise ConnectionResetError("the client left")
        try:
            return exec_pipe.decode_body(message.data)
        except UNREADABLE as error:
            raise Invalid(f"the first frame does not say what to run: {error}") from error

    async def _carry(self, piped: PipedExec) -> None:
        """Carry both ways until the client has the program's end, or left."""
        async with asyncio.TaskGroup() as tasks:
            several = [
                tasks.create_task(self._deliver(piped)),
                tasks.create_task(self._receive(piped)),
                tasks.create_task(self._return_credit(piped)),
                tasks.create_task(self._end_when_withheld()),
            ]
            await asyncio.wait(several, return_when=asyncio.FIRST_COMPLETED)
            for task in several:
                task.cancel()

    # To the client.

    async def _deliver(self, piped: PipedExec) -> None:
        """Send all output and then the program's end."""
        with contextlib.suppress(ConnectionError):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send_output(piped.stdout, Stream.STDOUT))
                tasks.create_task(self._send_output(piped.stderr, Stream.STDERR))
            end = await piped.ended()
            if not (self._withheld.is_set() or self._parts.ending.announced):
                await self._send(exec_pipe.ProgramExit(end))

    async def _send_output(self, output: OutputPipe, stream: Stream) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await output.read():
                if stream is Stream.STDOUT and not self._may_send(data):
                    self._withheld.set()
                    return
                await self._client.send_bytes(exec_pipe.encode_bytes(stream, data))
                # A fast client never makes the sender wait, and others want their turn.
                await asyncio.sleep(0)
            await self._send(exec_pipe.OutputEnd("stdout" if stream is Stream.STDOUT else "stderr"))

    def _may_send(self, data: bytes) -> bool:
        """Report whether output may be sent."""
        return self._guard is None or self._guard.passes(data)

    async def _end_when_withheld(self) -> None:
        """Wait until output may not be sent, which ends the pipe."""
        await self._withheld.wait()
        self._fault = Conflict(
            "a file holds a secret of the sandbox's owner; who may see it reads it with "
            "secrets=allow",
            code="holds_secret",
        )

    async def _return_credit(self, piped: PipedExec) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                await self._send(exec_pipe.InputTaken(await piped.taken()))

    async def _send(self, message: exec_pipe.ServerMessage) -> None:
        await self._client.send_str(exec_pipe.encode(message))

    # From the client.

    async def _receive(self, piped: PipedExec) -> None:
        """Take what the client sends until it leaves, or breaks the rules."""
        try:
            async for message in self._client:
                self._parts.activity.touch()
                await self._take(piped, message)
        except AtollError as error:
            self._fault = error

    async def _take(self, piped: PipedExec, message: WSMessage) -> None:
        if message.type is WSMsgType.BINARY:
            if message.data[:1] != bytes([Stream.STDIN]):
                raise Invalid("a binary frame begins with 0, for stdin", field="stream")
            if self._input_over:
                raise Invalid("stdin was ended before", field="stream")
            piped.write(memoryview(message.data)[1:])
            return
        if message.type is not WSMsgType.TEXT:
            raise Invalid(f"a frame has at most {exec_pipe.MAX_FRAME_BYTES} bytes")
        try:
            match exec_pipe.decode_client(message.data):
                case exec_pipe.InputEnd():
                    self._input_over = True
                    piped.write_eof()
                case exec_pipe.InputSignal(name):
                    await piped.signal(_signal_number(name))
        except UNREADABLE as error:
            raise Invalid(f"a text frame is no message of a pipe: {error}") from error


class _ContentGuard:
    """Search of the files that a tool sends, for the secrets known at its beginning. The first that
    is found goes into the journal."""

    def __init__(self, parts: Parts, *, allowed: bool) -> None:
        self._parts = parts
        self._allowed = allowed
        self._contents = SftpContents()
        self._detector = Detector(parts.redactions.lexicon, binary=True)

    def passes(self, data: bytes) -> bool:
        """Report whether these bytes may be sent."""
        before = self._detector.found
        if self._detector.feed(self._contents.feed(data)) and not before:
            kind = "secret.exported" if self._allowed else "secret.withheld"
            self._parts.journal.append(kind, {"path": SFTP})
        return self._allowed or not self._detector.found


def _exec_request(body: PipeBody) -> ExecRequest:
    if body.actor is not None and len(body.actor) > MAX_ACTOR:
        raise Invalid(f"actor has at most {MAX_ACTOR} characters", field="actor")
    return ExecRequest(
        argv=_argv(body),
        cwd=None if body.cwd is None else check_cwd(body.cwd),
        env=check_env(body.env),
        stdin=None,
        timeout=None,
        background=True,
        max_output_bytes=0,
        reap=False,
        unrecorded=body.tool is not None,
        clean_env=body.clean_env,
        actor=body.actor,
        tool=body.tool is not None,
    )


def _argv(body: PipeBody) -> tuple[str, ...]:
    if [body.argv, body.shell, body.tool].count(None) != 2:
        raise Invalid("give one of argv, a shell line, and a tool", field="argv")
    if body.tool is not None:
        if body.cwd is not None or body.env or body.clean_env:
            raise Invalid("a tool has a directory and variables of its own", field="tool")
        argv = check_argv(body.tool)
        if argv[0] not in TOOLS:
            raise Invalid(f"tool must be one of {', '.join(sorted(TOOLS))}", field="tool")
        return argv
    if body.shell is not None:
        return check_argv(["/bin/sh", "-c", body.shell])
    return check_argv(body.argv or [])


def _signal_number(name: str) -> signal.Signals:
    if name not in exec_pipe.SIGNALS:
        raise Invalid(
            f"signal must be one of {', '.join(sorted(exec_pipe.SIGNALS))}", field="signal"
        )
    return signal.Signals[f"SIG{name}"]


def _failure(request: web.Request, error: AtollError) -> exec_pipe.PipeFailure:
    """Return an error as a message, without secrets that it repeats."""
    words = parts_of(request).redactions.text(error.message)
    return exec_pipe.PipeFailure(
        exec_pipe.ErrorDetail(status_of(error), error.code, words, error.field)
    )


def _keep_alive(request: web.Request) -> None:
    """Let the kernel notice a peer that vanished: pings would need a client that reads."""
    own = None if request.transport is None else request.transport.get_extra_info("socket")
    if own is not None and own.family in (socket.AF_INET, socket.AF_INET6):
        for option in _KEEPALIVE:
            own.setsockopt(*option)
