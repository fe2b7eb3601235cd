"""A login of one SSH connection: who it is, what it may do, and the way into its sandbox."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from msgspec.structs import replace

from atoll.domain.errors import AtollError, Conflict, Forbidden, NoConnection, Unavailable
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import Reachability
from atoll.ports.runtime import ByteConnection, Channel, ExecPipe, RuntimeClient, RuntimeClients
from atoll.surfaces.ssh.control_plane import ControlPlane
from atoll.wire.contract.exec_pipe import PipeBody
from atoll.wire.contract.ssh import LoginClaim, LoginGrant, Right, TerminalOrder, Way
from atoll.wire.words.walls import IsolationLevel

_WORDS: Final[dict[Right, str]] = {
    "attach": "look at its terminals",
    "open": "open terminals in it",
    "exec": "run programs in it",
    "read": "read its files",
    "write": "change its files",
    "forward": "connect to its ports",
}

_UNSEEN: Final = Isolation(IsolationLevel.NONE, "")
"""The isolation of a runtime, which makes no difference to who calls it."""


class Login:
    """A login. `admitted` is renewed while the connection lasts; None once it may not stay."""

    def __init__(
        self,
        control: ControlPlane,
        runtimes: RuntimeClients,
        presented: LoginClaim,
        admitted: LoginGrant,
    ) -> None:
        self._control = control
        self._runtimes = runtimes
        # From now on by the sandbox's id: it may get another name.
        self.presented = LoginClaim(
            sandbox=admitted.sandbox_id, credential=presented.credential, peer=presented.peer
        )
        self.admitted = admitted
        self._way: Way | None = None

    def may(self, right: Right) -> bool:
        """Report whether it has a right."""
        return right in self.admitted.rights

    def check(self, right: Right) -> None:
        """Raise `Forbidden` with a sentence where it has not."""
        if not self.may(right):
            raise Forbidden(f"you may not {_WORDS[right]}: {self.admitted.sandbox}")

    async def way(self, *, fresh: bool = False) -> Way:
        """Return the way into the sandbox, which is woken where it sleeps. `fresh`: what was known
        of it does not hold any more."""
        if self._way is None or fresh:
            self._way = await self._control.way(self.presented)
        return self._way

    async def open_terminal(
        self, size: tuple[int, int], env: dict[str, str], command: str = ""
    ) -> str:
        """Open a terminal with a shell, or a command line; returns its id."""
        self.check("open")
        return await self._control.open_terminal(
            TerminalOrder(
                presented=self.presented, cols=size[0], rows=size[1], command=command, env=env
            )
        )

    @asynccontextmanager
    async def pipe(self, body: PipeBody) -> AsyncIterator[ExecPipe]:
        """Run a program in its name. Raises the error for which it cannot be run."""
        async with AsyncExitStack() as stack:
            way = await self.way()
            named = replace(body, actor=way.actor)
            try:
                pipe = await stack.enter_async_context(self._client(way).pipe(named))
            except (NoConnection, Unavailable, Conflict):
                way = await self.way(fresh=True)
                pipe = await stack.enter_async_context(self._client(way).pipe(named))
            yield pipe

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ByteConnection]:
        """Yield a connection to a unix socket inside. Raises what refuses it."""
        async with self._connect(lambda client: client.socket(path)) as inside:
            yield inside

    @asynccontextmanager
    async def port(self, number: int) -> AsyncIterator[ByteConnection]:
        """Yield a connection to a port of the loopback inside. Raises what refuses it."""
        async with self._connect(lambda client: client.port(number)) as inside:
            yield inside

    @asynccontextmanager
    async def _connect(
        self, connect: Callable[[RuntimeClient], AbstractAsyncContextManager[ByteConnection]]
    ) -> AsyncIterator[ByteConnection]:
        async with AsyncExitStack() as stack:
            try:
                way = await self.way()
                inside = await stack.enter_async_context(connect(self._client(way)))
            except (NoConnection, Unavailable):
                way = await self.way(fresh=True)
                inside = await stack.enter_async_context(connect(self._client(way)))
            yield inside

    @asynccontextmanager
    async def channel(
        self, path: str, query: tuple[tuple[str, str], ...] = (), *, named: bool = False
    ) -> AsyncIterator[Channel]:
        """Yield a WebSocket of the sandbox's runtime; `named` adds who it is. Where the runtime is
        another one by now, that one is asked."""
        async with AsyncExitStack() as stack:
            way = await self.way()
            words = (*query, *way.query) if named else query
            try:
                channel = await stack.enter_async_context(self._client(way).attach(path, words))
            except (NoConnection, Unavailable, Conflict):
                way = await self.way(fresh=True)
                channel = await stack.enter_async_context(self._client(way).attach(path, words))
            yield channel

    def _client(self, way: Way) -> RuntimeClient:
        return self._runtimes.client(Reachability(way.address, _UNSEEN, way.token))


def sentence_of(error: AtollError) -> bytes:
    """Return an error as a line for a person's terminal."""
    shown = "".join(each if each.isprintable() else "?" for each in error.message)
    return f"atoll: {shown}\r\n".encode()
