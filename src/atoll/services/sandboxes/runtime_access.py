"""Access to the runtimes of sandboxes, for who may see them; and calls that another client ends.

A call into a sandbox that is ended meanwhile breaks off like one to a runtime that is overloaded. A
retry helps the latter only, so the former is a conflict that reports the sandbox's state.
Terminals' connections are not covered: the runtime closes them with a reason of its own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TypeVar

from atoll.domain.errors import AtollError, Conflict, NoConnection, Unavailable
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox, keeps_files
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.ports import (
    ByteConnection,
    Channel,
    ExecPipe,
    HandoverLink,
    Reachability,
    RuntimeClient,
    RuntimeStream,
)
from atoll.services.journals.journals import Journals
from atoll.services.lifecycle.directory import SandboxLookup
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.lifecycle.waits import SandboxWaits
from atoll.services.sandboxes.backend_watch import BackendWatch
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.remote_maintenance import RemoteMaintenance
from atoll.services.sandboxes.sleep.sleepers import Sleepers
from atoll.wire.contract.call import Query, RuntimeCall
from atoll.wire.contract.exec_pipe import PipeBody
from atoll.wire.contract.journal import FALLING_ASLEEP
from atoll.wire.words.sandboxes import State

T = TypeVar("T")

_GONE = frozenset({State.DESTROYING, State.DESTROYED})


@asynccontextmanager
async def conflict_when_ended(
    before: Sandbox, look: Callable[[], Awaitable[Sandbox]]
) -> AsyncIterator[None]:
    """Replace an `Unavailable` raised in the context by a `Conflict` when the sandbox was ended
    since `before`. `look` returns the sandbox as it now is."""
    try:
        yield
    except Unavailable as error:
        now = await look()
        if not _has_ended(before, now):
            raise
        raise _conflict(now) from error


class SandboxClient:
    """`ports.RuntimeClient` of a sandbox that ran `before`. Calls and streams raise `Conflict`
    when the sandbox was ended meanwhile, else what the port raises. What a runtime refuses because
    its sandbox falls asleep, or does not take as it sleeps already, is asked of the next one, which
    `again` returns. With `reads` so is a read that broke off as the sandbox stopped or started."""

    def __init__(
        self,
        client: RuntimeClient,
        before: Sandbox,
        look: Callable[[], Awaitable[Sandbox]],
        *,
        again: Callable[[], Awaitable[RuntimeClient]] | None = None,
        reads: bool = False,
    ) -> None:
        self._client = client
        self._before = before
        self._look = look
        self._again = again
        self._reads = reads

    async def call(self, call: RuntimeCall[T]) -> T:
        """Send a small request and read the whole answer."""
        async with conflict_when_ended(self._before, self._look):
            try:
                return await self._client.call(call)
            except (Conflict, Unavailable) as error:
                client = await self._next(error, call)
            return await client.call(call)

    @asynccontextmanager
    async def stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
        """Send a request and read the answer as it comes."""
        async with conflict_when_ended(self._before, self._look), AsyncExitStack() as stack:
            try:
                answer = await stack.enter_async_context(self._client.stream(call))
            except (Conflict, Unavailable) as error:
                client = await self._next(error, call)
                answer = await stack.enter_async_context(client.stream(call))
            yield answer

    @asynccontextmanager
    async def attach(self, path: str, query: Query = ()) -> AsyncIterator[Channel]:
        """Open a WebSocket. One that was not opened had no effect: where the sandbox runs anew it
        may be opened again."""
        async with self._opened(lambda client: client.attach(path, query)) as channel:
            yield channel

    @asynccontextmanager
    async def pipe(self, body: PipeBody) -> AsyncIterator[ExecPipe]:
        """Start a program by its streams, also where the sandbox runs anew."""
        # Any other failure may come when the program ran already.
        async with self._opened(lambda client: client.pipe(body), again=NoConnection) as pipe:
            yield pipe

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ByteConnection]:
        """Connect to a socket inside; opened again as by `attach`."""
        async with self._opened(lambda client: client.socket(path)) as connection:
            yield connection

    @asynccontextmanager
    async def port(self, number: int) -> AsyncIterator[ByteConnection]:
        """Connect to a port inside; opened again as by `attach`."""
        async with self._opened(lambda client: client.port(number)) as connection:
            yield connection

    @asynccontextmanager
    async def _opened(
        self,
        connect: Callable[[RuntimeClient], AbstractAsyncContextManager[T]],
        *,
        again: type[Unavailable] = Unavailable,
    ) -> AsyncIterator[T]:
        """Yield a connection, to the next runtime where this one is gone or falls asleep."""
        async with AsyncExitStack() as stack:
            try:
                connection = await stack.enter_async_context(connect(self._client))
            except again as error:
                client = await self._reconnect(error)
                connection = await stack.enter_async_context(connect(client))
            except Conflict as error:
                client = await self._next(error)
                connection = await stack.enter_async_context(connect(client))
            yield connection

    async def _reconnect(self, error: Unavailable) -> RuntimeClient:
        """Return the client of the next runtime, where the sandbox sleeps or wakes. Raises
        `Conflict` when it ended, the error when it still runs."""
        now = await self._look()
        if self._again is not None and (now.asleep or now.waking):
            return await self._again()
        if now.state not in RUNNING and _has_ended(self._before, now):
            raise _conflict(now) from error
        raise error

    def request_handover(
        self, path: str, query: Query = ()
    ) -> AbstractAsyncContextManager[HandoverLink | None]:
        """Request an attach session for a client's own connection."""
        return self._client.request_handover(path, query)

    async def _next(self, refusal: AtollError, call: RuntimeCall[T] | None = None) -> RuntimeClient:
        """Return the client of the next runtime, where a refusal had no effect. Raises the refusal
        otherwise, and for a body that is sent only once."""
        whole = call is None or call.body is None or isinstance(call.body, bytes)
        read = self._reads and call is not None and call.method == "GET"
        if self._again is None or not whole or not await self._goes_on(refusal, read=read):
            raise refusal
        return await self._again()

    async def _goes_on(self, refusal: AtollError, *, read: bool) -> bool:
        if not isinstance(refusal, Unavailable):
            return refusal.code == FALLING_ASLEEP
        if not (read or isinstance(refusal, NoConnection)):
            return False
        # Another replica may have let it sleep a moment ago.
        now = await self._look()
        return now.asleep or now.waking or (read and _has_moved(self._before, now))


class RuntimeAccess:
    """Access to runtimes. A `ref` is an id or a name; whatever the caller may not see is
    `NotFound`."""

    def __init__(
        self,
        lookup: SandboxLookup,
        runtimes: SandboxRuntimes,
        waits: SandboxWaits,
        *,
        reconciler: Reconciler,
        maintenance: RemoteMaintenance,
        backend_watch: BackendWatch,
        journals: Journals,
        sleepers: Sleepers,
    ) -> None:
        self._lookup = lookup
        self._runtimes = runtimes
        self._waits = waits
        self._reconciler = reconciler
        self._maintenance = maintenance
        self._backend_watch = backend_watch
        self._journals = journals
        self._sleepers = sleepers

    async def runtime(
        self, caller: Principal, ref: str, *, activity: bool = False, wakes: bool | None = None
    ) -> tuple[Sandbox, RuntimeClient]:
        """Return the client of a `ready` or `active` sandbox; `activity` marks it active. One that
        sleeps is waited for: activity `wakes` it, unless that says otherwise. Raises
        `Unavailable` while it is provisioned, `Conflict` when it does not run; so do calls of
        the client when another client ends the sandbox meanwhile."""
        sandbox = await self._lookup.get_recent(caller, ref)
        woken = activity if wakes is None else wakes
        if woken:
            sandbox = await self._sleepers.wake(caller, sandbox)
        if sandbox.state not in RUNNING:
            raise _not_running(sandbox)
        if activity:
            self._reconciler.touch(sandbox)
            self._backend_watch.note_activity(sandbox)
            self._journals.note_activity(sandbox.id)
        client = self._runtimes.client(sandbox)

        async def again() -> RuntimeClient:
            now = await self._sleepers.wake_next(caller, sandbox)
            if now.state not in RUNNING:
                raise _not_running(now)
            return self._runtimes.client(now)

        look = partial(self._lookup.refresh, sandbox)
        return sandbox, SandboxClient(client, sandbox, look, again=again if woken else None)

    async def find(self, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox, as it was a moment ago. Raises `NotFound`."""
        return await self._lookup.get_recent(caller, ref)

    async def reach(
        self, caller: Principal, ref: str, *, wakes: bool
    ) -> tuple[Sandbox, Reachability]:
        """Return where the runtime of a sandbox answers, for a program of ours that calls it by
        itself. Waits, and raises, as `runtime`; with `wakes` it counts as activity."""
        sandbox, _ = await self.runtime(caller, ref, activity=wakes)
        return sandbox, self._runtimes.reach(sandbox)

    @asynccontextmanager
    async def reading(
        self, caller: Principal, ref: str
    ) -> AsyncIterator[tuple[Sandbox, RuntimeClient]]:
        """Yield access to the files of a sandbox. A stopped, expired or failed one is started for
        maintenance; its state does not change. Raises as `runtime`; `Conflict` for one that keeps
        nothing."""
        sandbox = await self._lookup.get_recent(caller, ref)
        async with AsyncExitStack() as opened:
            sandbox, client = await self._open(caller, sandbox, opened)
            look = partial(self._lookup.refresh, sandbox)

            async def again() -> RuntimeClient:
                return (await self._open(caller, await look(), opened))[1]

            async with conflict_when_ended(sandbox, look):
                yield sandbox, SandboxClient(client, sandbox, look, again=again, reads=True)

    async def _open(
        self, caller: Principal, sandbox: Sandbox, opened: AsyncExitStack
    ) -> tuple[Sandbox, RuntimeClient]:
        """Return a sandbox as it now is, and the client of what answers a reader: its runtime, or a
        maintenance start that `opened` ends. Raises as `reading`."""
        if keeps_files(sandbox) or sandbox.waking:
            # What began it may not be done yet: it may wake, or its processes may still be ending.
            sandbox = await self._lookup.get(caller, sandbox.id)
            sandbox = await self._waits.wait(sandbox, settled=True)
        if sandbox.state in RUNNING:
            return sandbox, self._runtimes.client(sandbox)
        if not keeps_files(sandbox):
            raise _not_running(sandbox)
        look = partial(self._lookup.refresh, sandbox)
        async with conflict_when_ended(sandbox, look):
            return sandbox, await opened.enter_async_context(self._maintenance.opened(sandbox))

    def runtime_of(self, sandbox: Sandbox) -> RuntimeClient:
        """Return the client of a sandbox's runtime, without a permission check. Raises `Failed`
        when it has no address."""
        return self._runtimes.client(sandbox)


def _not_running(sandbox: Sandbox) -> AtollError:
    """Return the error that says why a sandbox cannot be entered, and what to do."""
    name = f"Sandbox {sandbox.name} ({sandbox.id})"
    match sandbox.state:
        case State.REQUESTED if is_queued(sandbox) and sandbox.task is not None:
            return Conflict(
                f"{name} waits for a place: {sandbox.task.before} before it. It starts when "
                "another task is done.",
                code="queued",
            )
        case State.REQUESTED | State.PROVISIONING:
            return Unavailable(
                f"{name} is still being provisioned: wait until it is ready.", code="not_ready"
            )
        case State.STOPPED if sandbox.asleep:
            return Conflict(f"{name} sleeps: using it wakes it.", code="asleep")
        case State.STOPPED:
            return Conflict(f"{name} is stopped: start it first.", code="not_running")
        case State.EXPIRED | State.FAILED:
            why = f" ({sandbox.reason})" if sandbox.reason else ""
            act = _ways_to_what_is_kept(sandbox) if keeps_files(sandbox) else "recreate it"
            return Conflict(f"{name} is {sandbox.state}{why}: {act}.", code="not_running")
        case State.READY | State.ACTIVE | State.DESTROYING | State.DESTROYED:
            return Conflict(f"{name} is {sandbox.state}.", code="not_running")


def _ways_to_what_is_kept(sandbox: Sandbox) -> str:
    name = sandbox.name
    copy = f"`atoll cp {name}:. DIR`"
    take = f"`atoll pull {name}` and {copy} take" if sandbox.repos else f"{copy} takes"
    return f"`atoll start {name}` brings it up with its files; {take} them out as it is"


def _has_ended(before: Sandbox, now: Sandbox) -> bool:
    """Return whether the processes that were called have ended. One that was not running
    may be started meanwhile: then the same call soon works."""
    if now.state in _GONE or now.generation != before.generation:
        return True
    return before.state in RUNNING and (now.state not in RUNNING or now.ready_at != before.ready_at)


def _has_moved(before: Sandbox, now: Sandbox) -> bool:
    """Return whether a sandbox stopped or started meanwhile, and has the same files."""
    stands = now.generation == before.generation and (now.state in RUNNING or keeps_files(now))
    return stands and (now.state, now.ready_at) != (before.state, before.ready_at)


def _conflict(now: Sandbox) -> Conflict:
    why = f" ({now.reason})" if now.reason else ""
    return Conflict(
        f"Sandbox {now.name} was ended during this call and is {now.state} now{why}: "
        "the call may have had some effect; look before you repeat it.",
        code=None if now.state in RUNNING else "not_running",
    )
