"""Calls into a sandbox that another client ends meanwhile.

Such a call breaks off like one to a runtime that is overloaded. A retry helps the latter only, so
the former is a conflict that reports the sandbox's state. Terminals' connections are not covered:
the runtime closes them with a reason of its own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from atoll.domain.errors import Conflict, Unavailable
from atoll.domain.sandbox.sandbox import RUNNING, Sandbox
from atoll.ports import Channel, HandoverLink, RuntimeClient, RuntimeStream
from atoll.wire.contract.call import Query, RuntimeCall
from atoll.wire.words.sandboxes import State

T = TypeVar("T")

_GONE = frozenset({State.DESTROYING, State.DESTROYED})


@asynccontextmanager
async def explained(before: Sandbox, look: Callable[[], Awaitable[Sandbox]]) -> AsyncIterator[None]:
    """Replace an `Unavailable` raised in the context by a `Conflict` when the sandbox was ended
    since `before`. `look` returns the sandbox as it now is."""
    try:
        yield
    except Unavailable as error:
        now = await look()
        if not _ended(before, now):
            raise
        raise _conflict(now) from error


class SandboxClient:
    """`ports.RuntimeClient` of a sandbox that ran `before`. Calls and streams raise `Conflict`
    when the sandbox was ended meanwhile, else what the port raises."""

    def __init__(
        self, client: RuntimeClient, before: Sandbox, look: Callable[[], Awaitable[Sandbox]]
    ) -> None:
        self._client = client
        self._before = before
        self._look = look

    async def call(self, call: RuntimeCall[T]) -> T:
        """Send a small request and read the whole answer."""
        async with explained(self._before, self._look):
            return await self._client.call(call)

    @asynccontextmanager
    async def stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
        """Send a request and read the answer as it comes."""
        async with explained(self._before, self._look), self._client.stream(call) as answer:
            yield answer

    def attach(self, path: str, query: Query = ()) -> AbstractAsyncContextManager[Channel]:
        """Open a WebSocket."""
        return self._client.attach(path, query)

    def request_handover(
        self, path: str, query: Query = ()
    ) -> AbstractAsyncContextManager[HandoverLink | None]:
        """Request an attach session for a client's own connection."""
        return self._client.request_handover(path, query)


def _ended(before: Sandbox, now: Sandbox) -> bool:
    """Return whether the processes that were called have ended. One that was not running
    may be started meanwhile: then the same call soon works."""
    if now.state in _GONE or now.generation != before.generation:
        return True
    return before.state in RUNNING and (now.state not in RUNNING or now.ready_at != before.ready_at)


def _conflict(now: Sandbox) -> Conflict:
    why = f" ({now.reason})" if now.reason else ""
    return Conflict(
        f"Sandbox {now.name} was ended during this call and is {now.state} now{why}: "
        "the call may have had some effect; look before you repeat it.",
        code=None if now.state in RUNNING else "not_running",
    )
