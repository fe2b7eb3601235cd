"""Files: a sandbox's workspace, forwarded to its runtime.

Paths are judged by the runtime, which opens them inside; nothing here interprets one. What is
only read can be had of a sandbox that does not run, too.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.domain.errors import Forbidden
from atoll.domain.people.principal import Principal
from atoll.ports import RuntimeCall, RuntimeReply, RuntimeStream
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.execs import accepted_stream
from atoll.services.terminals.runtime_reply import accepted

Query = tuple[tuple[str, str], ...]
"""Query parameters of the runtime contract, as text."""

WITH_SECRETS = ("secrets", "allow")
"""Said by the owner who takes out bytes that hold a secret, knowing it."""


class Files:
    """Replies and streams are the runtime contract's. Everything raises `NotFound`,
    `Conflict`, `Unavailable`, and what the runtime's problem documents stand for."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def list(self, caller: Principal, ref: str, query: Query) -> RuntimeReply:
        """A page of a directory: `path`, `cursor`, `limit`."""
        return await self._look(caller, ref, RuntimeCall("GET", "/files", query))

    async def stat(self, caller: Principal, ref: str, query: Query) -> RuntimeReply:
        """One entry: `path`."""
        return await self._look(caller, ref, RuntimeCall("GET", "/files/stat", query))

    async def total(self, caller: Principal, ref: str, query: Query) -> RuntimeReply:
        """How much a tree holds: `path`."""
        return await self._look(caller, ref, RuntimeCall("GET", "/files/total", query))

    @asynccontextmanager
    async def read(
        self, caller: Principal, ref: str, query: Query, *, byte_range: str | None = None
    ) -> AsyncIterator[RuntimeStream]:
        """A file's bytes: `path`, `secrets`; `byte_range` is the value of a `Range` header."""
        headers = (("Range", byte_range),) if byte_range else ()
        call = RuntimeCall("GET", "/files/content", query, headers)
        async with self._read(caller, ref, call) as answer:
            yield answer

    async def write(
        self, caller: Principal, ref: str, query: Query, *, body: AsyncIterator[bytes] | bytes
    ) -> RuntimeReply:
        """Write a file atomically: `path`, `mode`, `parents`."""
        call = RuntimeCall("PUT", "/files/content", query, body=body)
        return await self._call(caller, ref, call, activity=True)

    async def remove(self, caller: Principal, ref: str, query: Query) -> RuntimeReply:
        """Delete: `path`, `recursive`."""
        return await self._call(caller, ref, RuntimeCall("DELETE", "/files", query), activity=True)

    async def mkdir(self, caller: Principal, ref: str, body: bytes) -> RuntimeReply:
        """Make a directory: `{"path","parents"}`."""
        call = RuntimeCall("POST", "/files/mkdir", body=body)
        return await self._call(caller, ref, call, activity=True)

    async def move(self, caller: Principal, ref: str, body: bytes) -> RuntimeReply:
        """Move: `{"from","to","overwrite"}`."""
        call = RuntimeCall("POST", "/files/move", body=body)
        return await self._call(caller, ref, call, activity=True)

    @asynccontextmanager
    async def archive(
        self, caller: Principal, ref: str, query: Query
    ) -> AsyncIterator[RuntimeStream]:
        """A tree as tar: `path`, `secrets`."""
        call = RuntimeCall("GET", "/files/archive", query)
        async with self._read(caller, ref, call) as answer:
            yield answer

    async def unpack(
        self, caller: Principal, ref: str, query: Query, *, body: AsyncIterator[bytes] | bytes
    ) -> RuntimeReply:
        """Extract a tar: `path`."""
        call = RuntimeCall("PUT", "/files/archive", query, body=body)
        return await self._call(caller, ref, call, activity=True)

    @asynccontextmanager
    async def watch(
        self, caller: Principal, ref: str, query: Query
    ) -> AsyncIterator[RuntimeStream]:
        """Changes as server-sent events: `path`, `recursive`. Watching is no activity."""
        call = RuntimeCall("GET", "/files/watch", query)
        _, client = await self._sandboxes.runtime(caller, ref)
        async with client.stream(call) as answer:
            yield await accepted_stream(answer)

    async def _look(self, caller: Principal, ref: str, call: RuntimeCall) -> RuntimeReply:
        async with self._sandboxes.reading(caller, ref) as (_, client):
            return accepted(await client.call(call))

    async def _call(
        self, caller: Principal, ref: str, call: RuntimeCall, *, activity: bool = False
    ) -> RuntimeReply:
        _, client = await self._sandboxes.runtime(caller, ref, activity=activity)
        return accepted(await client.call(call))

    @asynccontextmanager
    async def _read(
        self, caller: Principal, ref: str, call: RuntimeCall
    ) -> AsyncIterator[RuntimeStream]:
        async with self._sandboxes.reading(caller, ref) as (sandbox, client):
            if WITH_SECRETS in call.query and caller.id != sandbox.owner:
                raise Forbidden(f"only the owner of {sandbox.name} may take secrets out of it")
            async with client.stream(call) as answer:
                yield await accepted_stream(answer)
