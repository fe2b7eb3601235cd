"""Terminals: who may open and watch them, and their words.

A thin forward to the sandbox's runtime, where a terminal is called a session. Frames and
bodies pass untouched; the events come from the runtime's journal.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.people.principal import ActorKind, Principal
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.domain.terminal.turn import Role
from atoll.ports import Channel, RuntimeClient, Tether
from atoll.services.agents.orders import completed
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.runtime_reply import (
    RuntimeReply,
    checked_id,
    only,
    raw_call,
    read_reply,
    renamed,
)
from atoll.wire.contract.call import RuntimeCall

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
    }
)
"""What a client may say of itself when it attaches; anything else stays behind."""

GUEST_WORDS = "This sandbox does not run now. Ask whoever invited you."

_WORDS = {"session_id": "terminal_id", "sessions": "terminals"}


class _Opened(msgspec.Struct):
    session_id: str


class Terminals:
    """Replies carry the runtime contract's JSON with the API's words. Everything raises
    `NotFound`, `Conflict`, `Unavailable`, and what the runtime's problem documents stand for."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def list(self, caller: Principal, ref: str) -> RuntimeReply:
        """`{"terminals": […]}`; a guest of one terminal finds that one."""
        _, client = await self.seated(caller, ref)
        reply = await client.call(raw_call("GET", "/sessions"))
        if caller.seat is not None and caller.seat.terminal_id is not None:
            reply = only(reply, "sessions", ("session_id", caller.seat.terminal_id))
        return renamed(reply, _WORDS)

    async def open(
        self, caller: Principal, ref: str, body: bytes, *, strict: bool = False
    ) -> RuntimeReply:
        """Open one; `body` is the JSON of `POST /sessions`. Counts as activity. `strict`: an
        agent's lock stops everybody, whatever its sandbox says."""
        sandbox, client = await self._sandboxes.runtime(caller, ref, activity=True)
        query = (("principal", caller.id),)
        order = completed(sandbox, body, strict=strict)
        reply = await client.call(raw_call("POST", "/sessions", query, body=order))
        opened = read_reply(reply, _Opened)
        self._sandboxes.remember_actor(sandbox, opened.session_id, caller)
        return renamed(reply, _WORDS)

    async def get(self, caller: Principal, ref: str, terminal_id: str) -> RuntimeReply:
        """One terminal."""
        _, client = await self.seated(caller, ref, terminal_id)
        return renamed(await client.call(raw_call("GET", _path(terminal_id))), _WORDS)

    async def close(
        self, caller: Principal, ref: str, terminal_id: str, *, grace: str | None = None
    ) -> RuntimeReply:
        """End it and its tree; idempotent. `grace` in seconds, as text."""
        query = (("grace", grace),) if grace is not None else ()
        return await self._call(caller, ref, raw_call("DELETE", _path(terminal_id), query))

    async def resize(
        self, caller: Principal, ref: str, terminal_id: str, *, body: bytes
    ) -> RuntimeReply:
        """Set its size; `body` is `{"cols","rows"}`."""
        call = raw_call("POST", _path(terminal_id) + "/resize", body=body)
        return await self._call(caller, ref, call)

    async def signal(
        self, caller: Principal, ref: str, terminal_id: str, *, body: bytes
    ) -> RuntimeReply:
        """Signal it; `body` is `{"signal"}`."""
        call = raw_call("POST", _path(terminal_id) + "/signal", body=body)
        return await self._call(caller, ref, call)

    @asynccontextmanager
    async def attach(
        self,
        caller: Principal,
        ref: str,
        terminal_id: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
    ) -> AsyncIterator[Channel]:
        """The terminal's WebSocket, to be passed through both ways. Watching is no activity:
        the runtime itself counts input. `query` is the client's own, of `ATTACH_WORDS` only;
        who it is and what it may do is added here."""
        path = _path(terminal_id) + "/attach"
        sandbox, client = await self.seated(caller, ref, terminal_id)
        words = (*_asked(query), *credentials(caller, sandbox))
        async with client.attach(path, words) as channel:
            yield channel

    @asynccontextmanager
    async def tether(
        self,
        caller: Principal,
        ref: str,
        terminal_id: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
    ) -> AsyncIterator[Tether | None]:
        """The same seat for the client's own connection, None where it must be passed through
        `attach`. Judged alike; raises what that does."""
        path = _path(terminal_id) + "/seat"
        sandbox, client = await self.seated(caller, ref, terminal_id)
        words = (*_asked(query), *credentials(caller, sandbox))
        async with client.tether(path, words) as tether:
            yield tether

    async def seated(
        self, caller: Principal, ref: str, terminal_id: str | None = None
    ) -> tuple[Sandbox, RuntimeClient]:
        """The way to a terminal somebody may watch: one of their own sandboxes, or a guest's
        seat. A guest finds nothing else, whatever it asks for."""
        seat = caller.seat
        if seat is None:
            return await self._sandboxes.runtime(caller, ref)
        if not seat.covers(ref, terminal_id):
            raise NotFound("There is no such terminal here; your link opens another one.")
        host = Principal(seat.org_id, seat.owner, ActorKind.PERSON)
        try:
            return await self._sandboxes.runtime(host, seat.sandbox_id)
        except Conflict as err:
            # What helps is a command of its owner's.
            raise Conflict(GUEST_WORDS, code=err.code) from err

    async def _call(
        self, caller: Principal, ref: str, call: RuntimeCall[RuntimeReply]
    ) -> RuntimeReply:
        _, client = await self._sandboxes.runtime(caller, ref)
        return renamed(await client.call(call), _WORDS)


def _asked(query: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Of what a client says of itself, what it may say."""
    return tuple((name, text) for name, text in query if name in ATTACH_WORDS)


def credentials(caller: Principal, sandbox: Sandbox) -> tuple[tuple[str, str], ...]:
    """Who attaches, in the runtime's words: it believes these and no others."""
    seat = caller.seat
    if seat is not None:
        role = seat.role
    else:
        own = (sandbox.org_id, sandbox.owner) == (caller.org_id, caller.id)
        role = Role.OWNER if own else Role.CONTROLLER
    who = (("principal", caller.id), ("name", caller.name or caller.id), ("role", role.value))
    if seat is None:
        return who
    return (*who, ("expires", str(int(seat.expires_at.timestamp()))))


def _path(terminal_id: str) -> str:
    return "/sessions/" + checked_id(terminal_id, noun="terminal")
