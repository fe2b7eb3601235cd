"""Terminals: who may open and watch them, and their words.

A thin forward to the sandbox's runtime, where a terminal is called a session. Frames pass
untouched; the events come from the runtime's journal.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from atoll.domain.errors import Forbidden, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Channel, HandoverLink, RuntimeClient, RuntimeStream
from atoll.ports.telemetry.tracer import Tracer
from atoll.services.identifiers import checked_id
from atoll.services.journals.journals import Journals
from atoll.services.lifecycle.room import SessionRoom
from atoll.services.provisioning.orders import complete_order
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.terminals.reach import Panes, TerminalReach, credentials, no_panes
from atoll.wire.contract import terminals
from atoll.wire.contract.call import PathId, Query, RuntimeCall
from atoll.wire.contract.execs import SignalBody
from atoll.wire.contract.recordings import (
    Recording,
    list_recordings,
    read_recording,
    start_recording,
    stop_recording,
)
from atoll.wire.words.events import ActorKind

T = TypeVar("T")

Call = Callable[[PathId], RuntimeCall[T]]

ATTACH_WORDS = frozenset(
    {
        "since",
        "client",
        "cols",
        "rows",
        "read_only",
        "take",
        "keep_size",
        "mode",
        "marks",
        "heartbeat",
        "wake",
    }
)
"""Query parameters that a client may send when it attaches."""

_OWN_WORDS = frozenset({"wake"})
"""Parameters that the runtime does not get."""


class Terminals:
    """Use cases with the values of the runtime contract. Every method raises `NotFound`,
    `Conflict`, `Unavailable`, and the errors of the runtime."""

    def __init__(
        self,
        access: RuntimeAccess,
        room: SessionRoom,
        *,
        checks: AgentChecks,
        journals: Journals,
        tracer: Tracer,
        panes: Panes = no_panes,
    ) -> None:
        self._reach = TerminalReach(access, panes)
        self._access = access
        self._checks = checks
        self._journals = journals
        self._room = room
        self._tracer = tracer

    async def list(self, caller: Principal, ref: str) -> terminals.TerminalList:
        """List terminals; a guest of one terminal finds that one."""
        _, client = await self.runtime_for(caller, ref)
        listing = await client.call(terminals.list_terminals())
        if caller.guest_access is None or caller.guest_access.terminal_id is None:
            return listing
        own = caller.guest_access.terminal_id
        return terminals.TerminalList(
            tuple(terminal for terminal in listing.terminals if terminal.terminal_id == own)
        )

    async def open(
        self, caller: Principal, ref: str, body: terminals.OpenBody, *, strict: bool = False
    ) -> terminals.TerminalRecord:
        """Open a terminal. Counts as activity. Raises `LimitReached` beyond a quota. `strict`: an
        agent's lock stops everybody, whatever the sandbox's setting."""
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        await self._checks.check_start(sandbox, client, body.agent)
        order = complete_order(sandbox, body, strict=strict)
        call = terminals.open_terminal(order, principal=caller.id)
        opened = await self._room.opened(
            sandbox, lambda: client.call(call), lambda terminal: terminal.terminal_id
        )
        await self._journals.remember(sandbox, opened.terminal_id, caller)
        return opened

    async def get(self, caller: Principal, ref: str, terminal_id: str) -> terminals.TerminalRecord:
        """Return one terminal."""
        _, client = await self.runtime_for(caller, ref, terminal_id)
        return await client.call(terminals.get_terminal(_id(terminal_id)))

    async def close(
        self, caller: Principal, ref: str, terminal_id: str, *, grace_seconds: float | None = None
    ) -> None:
        """End the terminal and its process tree; idempotent."""
        call = terminals.close_terminal(_id(terminal_id), grace_seconds=grace_seconds)
        await self._call(caller, ref, call)

    async def change(
        self, caller: Principal, ref: str, terminal_id: str, *, body: terminals.ChangeBody
    ) -> terminals.TerminalRecord:
        """Give the terminal another name or a fixed size, for everybody."""
        return await self._call(caller, ref, terminals.change_terminal(_id(terminal_id), body))

    async def resize(
        self, caller: Principal, ref: str, terminal_id: str, *, body: terminals.ResizeBody
    ) -> None:
        """Set the terminal's size."""
        await self._call(caller, ref, terminals.resize_terminal(_id(terminal_id), body))

    async def signal(
        self, caller: Principal, ref: str, terminal_id: str, *, body: SignalBody
    ) -> None:
        """Send a signal to the terminal's program."""
        await self._call(caller, ref, terminals.signal_terminal(_id(terminal_id), body))

    @asynccontextmanager
    async def attach(
        self,
        caller: Principal,
        ref: str,
        terminal_id: str,
        *,
        query: Query = (),
    ) -> AsyncIterator[Channel]:
        """Yield the terminal's WebSocket, to be passed through both ways. Watching is no
        activity: the runtime itself counts input. It wakes a sandbox that sleeps, unless it only
        looks or `wake=false` is said. `query` is the client's own, of
        `ATTACH_WORDS` only; who it is and what it may do is added here."""
        path = f"/sessions/{_id(terminal_id)}/attach"
        async with AsyncExitStack() as stack:
            with self._tracer.span("terminal.attach"):
                way = await self._reach.to(caller, ref, terminal_id, wakes=_is_access(query))
                words = (*_client_parameters(query), *credentials(caller, way.role))
                channel = await stack.enter_async_context(way.client.attach(path, words))
            yield channel

    @asynccontextmanager
    async def request_handover(
        self,
        caller: Principal,
        ref: str,
        terminal_id: str,
        *,
        query: Query = (),
    ) -> AsyncIterator[HandoverLink | None]:
        """Yield a handover link for the client's own connection. None where the runtime offers
        none: the frames must then pass through `attach`. Checks and errors are those of
        `attach`."""
        path = f"/sessions/{_id(terminal_id)}/seat"
        async with AsyncExitStack() as stack:
            with self._tracer.span("terminal.attach"):
                way = await self._reach.to(caller, ref, terminal_id, wakes=_is_access(query))
                words = (*_client_parameters(query), *credentials(caller, way.role))
                link = await stack.enter_async_context(way.client.request_handover(path, words))
            yield link

    async def runtime_for(
        self, caller: Principal, ref: str, terminal_id: str | None = None
    ) -> tuple[Sandbox, RuntimeClient]:
        """Return a sandbox whose terminal the caller may watch, and the client of its runtime.
        Raises `NotFound`."""
        way = await self._reach.to(caller, ref, terminal_id)
        return way.sandbox, way.client

    async def control(
        self, caller: Principal, ref: str, terminal_id: str
    ) -> tuple[RuntimeClient, Query]:
        """Return the runtime's client and the caller's credentials, for who may do more than
        watch. Raises `NotFound`, and `Forbidden` for who watches because a dashboard shows it."""
        way = await self._reach.to(caller, ref, terminal_id, wakes=True)
        if way.by_pane:
            raise Forbidden("The dashboard lets you watch this terminal, and not use it.")
        return way.client, credentials(caller, way.role)

    async def until_lost(self, caller: Principal, ref: str, terminal_id: str) -> bool:
        """Return once the caller may do less at a terminal than when they came, and whether they
        may come back to do that. Never returns for its owner, nor for a guest of the sandbox, whose
        link says when it ends. Raises nothing."""
        return await self._reach.until_lost(caller, ref, terminal_id)

    async def read(self, caller: Principal, ref: str, terminal_id: str, call: Call[T]) -> T:
        """Return what a terminal has shown; a guest of the terminal may have it."""
        _, client = await self.runtime_for(caller, ref, terminal_id)
        return await client.call(call(_id(terminal_id)))

    async def record(self, caller: Principal, ref: str, terminal_id: str) -> Recording:
        """Record a terminal from now on; every viewer is shown who started it."""
        name = caller.name or caller.id
        call = start_recording(_id(terminal_id), principal=caller.id, name=name)
        return await self._call(caller, ref, call)

    async def stop_recording(self, caller: Principal, ref: str, terminal_id: str) -> Recording:
        """Stop recording it."""
        return await self._call(caller, ref, stop_recording(_id(terminal_id)))

    async def check_recording(self, caller: Principal, ref: str, recording_id: str) -> None:
        """Raise `NotFound` for a recording that the sandbox has not."""
        async with self._access.reading(caller, ref) as (sandbox, client):
            listing = await client.call(list_recordings())
        if recording_id not in {recording.recording_id for recording in listing.recordings}:
            raise NotFound(
                f"Sandbox {sandbox.name} has no recording {recording_id[:80]!r}: list them to see."
            )

    @asynccontextmanager
    async def play(
        self, caller: Principal, ref: str, recording_id: PathId
    ) -> AsyncIterator[RuntimeStream]:
        """Yield a recording's file, also of a sandbox that does not run. A guest gets the one of
        its link. Raises `NotFound`."""
        access, at = caller.guest_access, (caller, ref)
        if access is not None:
            if not access.plays(ref, recording_id):
                raise NotFound("There is no such recording here; your link opens something else.")
            at = (Principal(access.org_id, access.owner, ActorKind.PERSON), ref)
        async with (
            self._access.reading(*at) as (_, client),
            client.stream(read_recording(recording_id)) as answer,
        ):
            yield answer

    async def _call(self, caller: Principal, ref: str, call: RuntimeCall[T]) -> T:
        _, client = await self._access.runtime(caller, ref)
        return await client.call(call)


def _client_parameters(query: Query) -> Query:
    """Return the parameters that a client may set itself."""
    return tuple((name, text) for name, text in query if name in ATTACH_WORDS - _OWN_WORDS)


def _is_access(query: Query) -> bool:
    """Report whether who attaches means to use the terminal."""
    words = dict(query)
    return words.get("wake") != "false" and words.get("read_only") not in ("1", "true")


def _id(terminal_id: str) -> PathId:
    return checked_id(terminal_id, noun="terminal")
