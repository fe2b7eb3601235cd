"""Execs: commands in a sandbox, forwarded to its runtime.

Bodies and streams pass untouched; the events come from the runtime's journal.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from atoll.domain.people.principal import Principal
from atoll.ports import RuntimeCall, RuntimeReply, RuntimeStream
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.runtime_reply import accepted, checked_id, problem, read_reply

_NDJSON = (("Accept", "application/x-ndjson"),)


class _Started(msgspec.Struct):
    exec_id: str


class Execs:
    """Replies and streams are the runtime contract's. Everything raises `NotFound`,
    `Conflict`, `Unavailable`, and what the runtime's problem documents stand for. A command
    that fails is a result."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def run(self, caller: Principal, ref: str, body: bytes) -> RuntimeReply:
        """Run a command; `body` is the JSON of `POST /execs`. Counts as activity."""
        sandbox, client = await self._sandboxes.runtime(caller, ref, activity=True)
        reply = accepted(await client.call(RuntimeCall("POST", "/execs", body=body)))
        started = read_reply(reply, _Started)
        self._sandboxes.remember_actor(sandbox, started.exec_id, caller)
        return reply

    @asynccontextmanager
    async def stream(
        self, caller: Principal, ref: str, body: bytes
    ) -> AsyncIterator[RuntimeStream]:
        """Run a command and follow it: ndjson from the start."""
        _, client = await self._sandboxes.runtime(caller, ref, activity=True)
        call = RuntimeCall("POST", "/execs", headers=_NDJSON, body=body)
        async with client.stream(call) as answer:
            yield await accepted_stream(answer)

    async def list(self, caller: Principal, ref: str) -> RuntimeReply:
        """`{"execs": […]}` without output."""
        return await self._call(caller, ref, RuntimeCall("GET", "/execs"))

    async def get(self, caller: Principal, ref: str, exec_id: str) -> RuntimeReply:
        """One exec with its output so far."""
        return await self._call(caller, ref, RuntimeCall("GET", _path(exec_id)))

    @asynccontextmanager
    async def output(
        self, caller: Principal, ref: str, exec_id: str, *, query: tuple[tuple[str, str], ...] = ()
    ) -> AsyncIterator[RuntimeStream]:
        """Follow a command's output from the offsets `stdout` and `stderr`: ndjson."""
        call = RuntimeCall("GET", _path(exec_id) + "/output", query)
        _, client = await self._sandboxes.runtime(caller, ref)
        async with client.stream(call) as answer:
            yield await accepted_stream(answer)

    async def stdin(
        self,
        caller: Principal,
        ref: str,
        exec_id: str,
        *,
        body: bytes | AsyncIterator[bytes],
        close: bool = False,
    ) -> RuntimeReply:
        """Write to a command's input; `close` ends it. Counts as activity."""
        query = (("close", "true"),) if close else ()
        call = RuntimeCall("POST", _path(exec_id) + "/stdin", query, body=body)
        return await self._call(caller, ref, call, activity=True)

    async def signal(
        self, caller: Principal, ref: str, exec_id: str, *, body: bytes
    ) -> RuntimeReply:
        """Signal its whole tree; `body` is `{"signal"}`."""
        return await self._call(
            caller, ref, RuntimeCall("POST", _path(exec_id) + "/signal", body=body)
        )

    async def forget(self, caller: Principal, ref: str, exec_id: str) -> RuntimeReply:
        """Forget it; one that runs is killed first."""
        return await self._call(caller, ref, RuntimeCall("DELETE", _path(exec_id)))

    async def left_running(self, caller: Principal, ref: str) -> RuntimeReply:
        """`{"processes": [{"pid", "command"}], "more"}`: what programs that ended have left."""
        return await self._call(caller, ref, RuntimeCall("GET", "/processes"))

    async def end_left_running(self, caller: Principal, ref: str) -> RuntimeReply:
        """Kill these processes. Counts as activity."""
        return await self._call(caller, ref, RuntimeCall("DELETE", "/processes"), activity=True)

    async def _call(
        self, caller: Principal, ref: str, call: RuntimeCall, *, activity: bool = False
    ) -> RuntimeReply:
        _, client = await self._sandboxes.runtime(caller, ref, activity=activity)
        return accepted(await client.call(call))


async def accepted_stream(answer: RuntimeStream) -> RuntimeStream:
    """`answer`, or the error it stands for (a problem document is at most 64 KiB)."""
    if answer.status < 400:
        return answer
    body = b""
    async for chunk in answer.body:
        body += chunk
        if len(body) > 65536:
            break
    raise problem(answer.status, body)


def _path(exec_id: str) -> str:
    return "/execs/" + checked_id(exec_id, noun="exec")
