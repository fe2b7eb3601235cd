"""Execs: commands in a sandbox, forwarded to its runtime.

Streams pass untouched; the events come from the runtime's journal.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from atoll.domain.people.principal import Principal
from atoll.ports import RuntimeStream
from atoll.services.identifiers import checked_id
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.contract import execs
from atoll.wire.contract.call import Query, RuntimeCall

T = TypeVar("T")


class Execs:
    """Use cases on commands, with the values of the runtime contract. Every method raises
    `NotFound`, `Conflict`, `Unavailable`, and the errors of the runtime. A command that fails is a
    result."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def run(self, caller: Principal, ref: str, body: execs.ExecBody) -> execs.ExecWithOutput:
        """Run a command. Counts as activity."""
        sandbox, client = await self._sandboxes.runtime(caller, ref, activity=True)
        started = await client.call(execs.run_exec(body))
        self._sandboxes.remember_actor(sandbox, started.exec_id, caller)
        return started

    @asynccontextmanager
    async def stream(
        self, caller: Principal, ref: str, body: execs.ExecBody
    ) -> AsyncIterator[RuntimeStream]:
        """Run a command and follow it: ndjson from the start."""
        _, client = await self._sandboxes.runtime(caller, ref, activity=True)
        async with client.stream(execs.stream_exec(body)) as answer:
            yield answer

    async def list(self, caller: Principal, ref: str) -> execs.ExecList:
        """List commands without their output."""
        return await self._call(caller, ref, execs.list_execs())

    async def get(self, caller: Principal, ref: str, exec_id: str) -> execs.ExecWithOutput:
        """Return one exec with its output so far."""
        return await self._call(caller, ref, execs.get_exec(_id(exec_id)))

    @asynccontextmanager
    async def output(
        self, caller: Principal, ref: str, exec_id: str, *, query: Query = ()
    ) -> AsyncIterator[RuntimeStream]:
        """Follow a command's output from the offsets `stdout` and `stderr`: ndjson."""
        call = execs.follow_exec(_id(exec_id), query)
        _, client = await self._sandboxes.runtime(caller, ref)
        async with client.stream(call) as answer:
            yield answer

    async def stdin(
        self,
        caller: Principal,
        ref: str,
        exec_id: str,
        *,
        data: bytes | AsyncIterator[bytes],
        close: bool = False,
    ) -> None:
        """Write to a command's input; `close` ends it. Counts as activity."""
        call = execs.feed_exec(_id(exec_id), data, close=close)
        await self._call(caller, ref, call, activity=True)

    async def signal(
        self, caller: Principal, ref: str, exec_id: str, *, body: execs.SignalBody
    ) -> None:
        """Signal its whole tree."""
        await self._call(caller, ref, execs.signal_exec(_id(exec_id), body))

    async def forget(self, caller: Principal, ref: str, exec_id: str) -> None:
        """Forget it; one that runs is killed first."""
        await self._call(caller, ref, execs.forget_exec(_id(exec_id)))

    async def left_running(self, caller: Principal, ref: str) -> execs.LeftList:
        """List what programs that ended have left."""
        return await self._call(caller, ref, execs.list_left_running())

    async def end_left_running(self, caller: Principal, ref: str) -> None:
        """Kill these processes. Counts as activity."""
        await self._call(caller, ref, execs.end_left_running(), activity=True)

    async def _call(
        self, caller: Principal, ref: str, call: RuntimeCall[T], *, activity: bool = False
    ) -> T:
        _, client = await self._sandboxes.runtime(caller, ref, activity=activity)
        return await client.call(call)


def _id(exec_id: str) -> str:
    return checked_id(exec_id, noun="exec")
