"""Terminals: who may open and watch them, and their words.

A thin forward to the sandbox's runtime, where a terminal is called a session. Frames and
bodies pass untouched; the events come from the runtime's journal.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from atoll.domain.principal import Principal
from atoll.ports import Channel, RuntimeCall, RuntimeReply
from atoll.services.passing import accepted, checked_id, renamed
from atoll.services.sandboxes import Sandboxes

_WORDS = {"session_id": "terminal_id", "sessions": "terminals"}


class _Opened(msgspec.Struct):
    session_id: str


class Terminals:
    """Replies carry the runtime contract's JSON with the API's words. Everything raises
    `NotFound`, `Conflict`, `Unavailable`, and what the runtime's problem documents stand for."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def list(self, caller: Principal, ref: str) -> RuntimeReply:
        """`{"terminals": […]}`."""
        return await self._call(caller, ref, RuntimeCall("GET", "/sessions"))

    async def open(self, caller: Principal, ref: str, body: bytes) -> RuntimeReply:
        """Open one; `body` is the JSON of `POST /sessions`. Counts as activity."""
        sandbox, client = await self._sandboxes.runtime(caller, ref, activity=True)
        reply = accepted(await client.call(RuntimeCall("POST", "/sessions", body=body or b"{}")))
        opened = msgspec.json.decode(reply.body, type=_Opened)
        self._sandboxes.remember_actor(sandbox, opened.session_id, caller)
        return renamed(reply, _WORDS)

    async def get(self, caller: Principal, ref: str, terminal_id: str) -> RuntimeReply:
        """One terminal."""
        return await self._call(caller, ref, RuntimeCall("GET", _path(terminal_id)))

    async def close(
        self, caller: Principal, ref: str, terminal_id: str, *, grace: str | None = None
    ) -> RuntimeReply:
        """End it and its tree; idempotent. `grace` in seconds, as text."""
        query = (("grace", grace),) if grace is not None else ()
        return await self._call(caller, ref, RuntimeCall("DELETE", _path(terminal_id), query))

    async def resize(
        self, caller: Principal, ref: str, terminal_id: str, *, body: bytes
    ) -> RuntimeReply:
        """Set its size; `body` is `{"cols","rows"}`."""
        call = RuntimeCall("POST", _path(terminal_id) + "/resize", body=body)
        return await self._call(caller, ref, call)

    async def signal(
        self, caller: Principal, ref: str, terminal_id: str, *, body: bytes
    ) -> RuntimeReply:
        """Signal it; `body` is `{"signal"}`."""
        call = RuntimeCall("POST", _path(terminal_id) + "/signal", body=body)
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
        the runtime itself counts input."""
        path = _path(terminal_id) + "/attach"
        _, client = await self._sandboxes.runtime(caller, ref)
        async with client.attach(path, query) as channel:
            yield channel

    async def _call(self, caller: Principal, ref: str, call: RuntimeCall) -> RuntimeReply:
        _, client = await self._sandboxes.runtime(caller, ref)
        return renamed(accepted(await client.call(call)), _WORDS)


def _path(terminal_id: str) -> str:
    return "/sessions/" + checked_id(terminal_id, noun="terminal")
