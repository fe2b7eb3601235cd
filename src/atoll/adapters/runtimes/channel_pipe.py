"""A channel as a program's streams (`WS /execs/pipe`), or as a connection (`WS /sockets`)."""

import asyncio
from collections.abc import AsyncIterator

from atoll.domain.error_status import kind_of
from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, Unavailable
from atoll.ports.runtime import Channel, Output, PipeEvent
from atoll.wire.contract import exec_pipe
from atoll.wire.contract.exec_pipe import PIECE_BYTES, PipeBody, Stream
from atoll.wire.contract.ports import END
from atoll.wire.http.unreadable import UNREADABLE


class ChannelConnection:
    """The `ports.runtime.ByteConnection` behind a channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what comes until the other side ends."""
        async for frame in self._channel:
            if isinstance(frame, bytes):
                yield frame

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        for start in range(0, len(data), PIECE_BYTES):
            await self._channel.send(data[start : start + PIECE_BYTES])

    async def write_eof(self) -> None:
        """Send that nothing more comes."""
        await self._channel.send(END)

    async def close(self) -> None:
        """Close both ways."""
        await self._channel.close()


class ChannelPipe:
    """The `ports.runtime.ExecPipe` of a program behind a channel."""

    def __init__(self, channel: Channel, started: exec_pipe.ProgramStart) -> None:
        self.exec_id = started.exec_id
        self._channel = channel
        self._credit = started.window
        self._credited = asyncio.Event()
        self._input_over = self._ended = self._lost = False

    async def __aiter__(self) -> AsyncIterator[PipeEvent]:
        """Yield events until the exit."""
        async for frame in self._channel:
            event = self._read(frame)
            if event is not None:
                yield event
            if self._ended:
                return
        self._lose()
        raise Unavailable("the connection to the program broke before its end was known")

    async def write(self, data: bytes) -> None:
        """Write to stdin, as fast as the program reads."""
        left = memoryview(data)
        while left:
            await self._wait_for_credit()
            piece = left[: min(PIECE_BYTES, self._credit)]
            left = left[len(piece) :]
            self._credit -= len(piece)
            await self._channel.send(exec_pipe.encode_bytes(Stream.STDIN, piece))

    async def write_eof(self) -> None:
        """End stdin; twice is no error."""
        if not (self._input_over or self._ended):
            self._input_over = True
            await self._channel.send(exec_pipe.encode(exec_pipe.InputEnd()))

    async def signal(self, name: str) -> None:
        """Signal the program's process group; after its end nothing happens."""
        if name not in exec_pipe.SIGNALS:
            raise Invalid(f"{name!r} is no signal that a program can be sent", field="signal")
        if not self._ended:
            await self._channel.send(exec_pipe.encode(exec_pipe.InputSignal(name)))

    async def close(self) -> None:
        """Leave."""
        await self._channel.close()

    async def _wait_for_credit(self) -> None:
        """Wait until at least a byte may be sent."""
        while True:
            if self._input_over or self._ended:
                raise Conflict("the program's input is closed", code="input_closed")
            if self._lost:
                raise Unavailable("the connection to the program is closed")
            if self._credit > 0:
                return
            self._credited.clear()
            await self._credited.wait()

    def _read(self, frame: bytes | str) -> PipeEvent | None:
        """Return what a frame says; None for one that says nothing to a reader."""
        if isinstance(frame, bytes):
            return _output(frame)
        match _message(frame):
            case exec_pipe.InputTaken(count):
                self._credit += count
                self._credited.set()
                return None
            case exec_pipe.OutputEnd() as end:
                return end
            case exec_pipe.ProgramExit() as exited:
                self._ended = True
                self._credited.set()
                return exited
            case exec_pipe.PipeFailure(error):
                self._lose()
                raise _error_of(error)
            case exec_pipe.ProgramStart():
                raise Failed("the runtime started a program twice on one pipe")

    def _lose(self) -> None:
        self._lost = True
        self._credited.set()


async def start_program(channel: Channel, body: PipeBody) -> ChannelPipe:
    """Start a program at a channel that was just opened. Raises the error of a refusal."""
    await channel.send(exec_pipe.encode(body))
    async for frame in channel:
        match _message(frame) if isinstance(frame, str) else None:
            case exec_pipe.ProgramStart() as started:
                return ChannelPipe(channel, started)
            case exec_pipe.PipeFailure(error):
                raise _error_of(error)
            case _:
                raise Failed("the runtime did not say whether it started the program")
    raise Unavailable("the runtime closed the connection before it started the program")


def _message(text: str) -> exec_pipe.ServerMessage:
    try:
        return exec_pipe.decode_server(text)
    except UNREADABLE as error:
        raise Failed(f"the runtime sent what is no message of a pipe: {error}") from error


def _output(frame: bytes) -> Output:
    match frame[0] if frame else Stream.STDIN:
        case Stream.STDOUT:
            return Output(Stream.STDOUT, frame[1:])
        case Stream.STDERR:
            return Output(Stream.STDERR, frame[1:])
        case _:
            raise Failed("the runtime sent bytes of a stream that is none")


def _error_of(error: exec_pipe.ErrorDetail) -> AtollError:
    return kind_of(error.status)(error.message, code=error.code, field=error.field)
