"""The RuntimeClient port: calls of the control plane to a runtime.

The contract itself (`wire.contract`, `docs/program/runtime-contract.md`) is HTTP and WebSocket
over a unix socket or TCP with a token; this port sends its calls and moves streams and frames.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from atoll.ports.extension import Reachability
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.exec_pipe import OutputEnd, PipeBody, ProgramExit, Stream

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RuntimeStream:
    """A response whose body is still arriving. Leaving the context aborts it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: AsyncIterator[bytes]


class Channel(Protocol):
    """End of a WebSocket: bytes are binary frames, str text frames."""

    def __aiter__(self) -> AsyncIterator[bytes | str]:
        """Yield frames until the peer closes."""
        ...

    async def send(self, frame: bytes | str) -> None:
        """Send one frame; waits while the transport is full. Raises `Unavailable` when closed."""
        ...

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close from this side."""
        ...

    @property
    def close_code(self) -> int | None:
        """The peer's close code once closed."""
        ...


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes of a program's stdout or stderr."""

    stream: Stream
    data: bytes


PipeEvent = Output | OutputEnd | ProgramExit
"""An event of a pipe: output in its order, the end of each output, and at last the exit."""


class ExecPipe(Protocol):
    """A running program by its three streams. One task reads and another writes: who writes alone
    waits for ever once the program took a window of bytes."""

    @property
    def exec_id(self) -> str:
        """The program's id in the journal."""
        ...

    def __aiter__(self) -> AsyncIterator[PipeEvent]:
        """Yield events until the exit. The program waits while nobody reads. Raises `Unavailable`
        when the connection ends before the exit, and the error that broke the pipe off."""
        ...

    async def write(self, data: bytes) -> None:
        """Write to stdin, as fast as the program reads. Bytes that it will not read are dropped.
        Raises `Conflict` after `write_eof` or the exit, `Unavailable` when the connection is gone.
        """
        ...

    async def write_eof(self) -> None:
        """End stdin. Idempotent; raises `Unavailable` when the connection is gone."""
        ...

    async def signal(self, name: str) -> None:
        """Signal the program's process group, by a name such as `TERM`. Raises `Invalid` for one
        that is not in `wire.contract.exec_pipe.SIGNALS`, `Unavailable` when the connection is
        gone."""
        ...

    async def close(self) -> None:
        """Leave: a program that still runs is hung up. Idempotent."""
        ...


class ByteConnection(Protocol):
    """Connection to a program that listens inside: bytes both ways, each with its own end."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what comes until the other side ends, or is gone. The program waits while nobody
        reads."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes; waits while the transport is full. Raises `Unavailable` when closed."""
        ...

    async def write_eof(self) -> None:
        """Send that nothing more comes; what comes is still read. Raises `Unavailable` when
        closed."""
        ...

    async def close(self) -> None:
        """Close both ways. Idempotent."""
        ...


class HandoverLink(Protocol):
    """The link to a runtime that takes over one client's connection. The runtime closes the client
    when the link ends."""

    async def is_admitted(self) -> bool:
        """Wait for the runtime's decision; report whether it admits the client."""
        ...

    def pass_socket(self, client: int) -> None:
        """Pass the client's socket, of which the runtime gets a copy. Call it once the handshake is
        done and nobody else writes to the socket. The link then outlives its context: end it with
        `disconnect`. Raises `OSError` when the runtime is gone."""
        ...

    async def ended(self) -> None:
        """Return once the client has left or was closed."""
        ...

    def close_client(self, code: int, reason: str) -> None:
        """Ask the runtime to close the client with this code; never waits."""
        ...

    def disconnect(self) -> None:
        """Close the link."""
        ...


class RuntimeClient(Protocol):
    """A connection to one runtime. Every method raises `Unavailable` when the runtime cannot be
    reached, and `Invalid` for a path that is none of the contract. Calls and streams raise the
    error that a problem document stands for."""

    async def call(self, call: RuntimeCall[T]) -> T:
        """Send a small request and read the whole answer. Raises `Failed` for an answer that breaks
        the contract."""
        ...

    def stream(self, call: RuntimeCall[bytes]) -> AbstractAsyncContextManager[RuntimeStream]:
        """Send a request and read the answer as it comes, with backpressure."""
        ...

    def attach(
        self, path: str, query: tuple[tuple[str, str], ...] = ()
    ) -> AbstractAsyncContextManager[Channel]:
        """Open a WebSocket."""
        ...

    def pipe(self, body: PipeBody) -> AbstractAsyncContextManager[ExecPipe]:
        """Start a program by its streams; leaving the context hangs it up, unless it has ended.
        Raises the error for which the runtime refuses it."""
        ...

    def socket(self, path: str) -> AbstractAsyncContextManager[ByteConnection]:
        """Connect to a unix socket beneath the workspace or the home. Raises the error for which
        the runtime refuses it: `Invalid`, `NotFound`, `Forbidden`, `Conflict` when nothing listens.
        """
        ...

    def port(self, number: int) -> AbstractAsyncContextManager[ByteConnection]:
        """Connect to a port of the sandbox's loopback. Raises as `socket`."""
        ...

    def request_handover(
        self, path: str, query: tuple[tuple[str, str], ...] = ()
    ) -> AbstractAsyncContextManager[HandoverLink | None]:
        """Request an attach session for a client's own connection. None where the runtime offers
        none or does not answer. Leaving the context ends a link to which no socket was passed."""
        ...


class RuntimeClients(Protocol):
    """Clients by address, with their connections."""

    def client(self, reach: Reachability) -> RuntimeClient:
        """Return the client of one runtime; cheap, does not connect."""
        ...

    async def close(self) -> None:
        """Close every connection. Idempotent; later requests raise `Unavailable`."""
        ...
