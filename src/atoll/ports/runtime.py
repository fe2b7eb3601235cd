"""The RuntimeClient port: how the control plane speaks the runtime contract.

The contract itself (`wire.contract`, `docs/program/runtime-contract.md`) is HTTP and WebSocket
over a unix socket or TCP with a token; this port sends its calls and moves streams and frames.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from atoll.ports.extension import Reachability
from atoll.wire.contract.call import RuntimeCall

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RuntimeStream:
    """An accepted answer whose body is still arriving; leaving the context aborts it."""

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


class Tether(Protocol):
    """Socket link to a runtime that holds one handed-over connection. Its holder answers for the
    client; the runtime closes the client when the link is released."""

    async def seated(self) -> bool:
        """Report whether a client that is not connected yet was admitted; False when it was
        refused."""
        ...

    def hand(self, client: int) -> None:
        """Pass the client's descriptor, of which the runtime gets its own copy, once the client's
        handshake is done and nobody else writes to it. Leaving the context no longer lets go.
        Raises `OSError` when the runtime is gone."""
        ...

    async def ended(self) -> None:
        """Return once the runtime has released the client: it left, or was closed."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Ask the runtime to close the client with this code; never waits."""
        ...

    def let_go(self) -> None:
        """Close the link."""
        ...


class RuntimeClient(Protocol):
    """A connection to one runtime. Everything raises `Unavailable` when it cannot be reached, and
    calls and streams the error that a problem document stands for."""

    async def call(self, call: RuntimeCall[T]) -> T:
        """Send a small request and read the whole answer. Raises `Failed` for an answer that is
        not what the contract says."""
        ...

    def stream(self, call: RuntimeCall[bytes]) -> AbstractAsyncContextManager[RuntimeStream]:
        """Send a request and read the answer as it comes, with backpressure."""
        ...

    def attach(
        self, path: str, query: tuple[tuple[str, str], ...] = ()
    ) -> AbstractAsyncContextManager[Channel]:
        """Open a WebSocket."""
        ...

    def tether(
        self, path: str, query: tuple[tuple[str, str], ...] = ()
    ) -> AbstractAsyncContextManager[Tether | None]:
        """Ask for an attach session to hand a client's own connection to; None where there is
        none this way. Leaving gives up one that was handed nothing; else its holder does."""
        ...


class RuntimeClients(Protocol):
    """Clients by address, with their connections."""

    def client(self, reach: Reachability) -> RuntimeClient:
        """Return the client of one runtime; cheap, does not connect."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
