"""Files: a sandbox's workspace, forwarded to its runtime.

Paths are judged by the runtime, which opens them inside; nothing here interprets one. What is
only read can be had of a sandbox that does not run, too.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from atoll.domain.errors import Forbidden
from atoll.domain.people.principal import Principal
from atoll.ports import RuntimeStream
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.contract import files
from atoll.wire.contract.call import Query, RuntimeCall

T = TypeVar("T")

WITH_SECRETS = ("secrets", "allow")
"""Said by the owner who takes out bytes that hold a secret, knowing it."""


class Files:
    """Use cases on files, with the values and queries of `wire.contract.files`. Every method raises
    `NotFound`, `Conflict`, `Unavailable`, and the errors of the runtime."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def list(self, caller: Principal, ref: str, query: Query) -> files.EntryPage:
        """List a page of a directory."""
        return await self._look(caller, ref, files.list_files(query))

    async def stat(self, caller: Principal, ref: str, query: Query) -> files.FileEntry:
        """Return one entry."""
        return await self._look(caller, ref, files.stat_file(query))

    async def total(self, caller: Principal, ref: str, query: Query) -> files.FileTotal:
        """Return how much a tree holds."""
        return await self._look(caller, ref, files.total_files(query))

    @asynccontextmanager
    async def read(
        self, caller: Principal, ref: str, query: Query, *, byte_range: str | None = None
    ) -> AsyncIterator[RuntimeStream]:
        """Read a file's bytes; `byte_range` is the value of a `Range` header."""
        call = files.read_file(query, byte_range=byte_range)
        async with self._read(caller, ref, call) as answer:
            yield answer

    async def write(
        self, caller: Principal, ref: str, query: Query, *, data: files.Data
    ) -> files.Written:
        """Write a file atomically."""
        return await self._act(caller, ref, files.write_file(query, data))

    async def remove(self, caller: Principal, ref: str, query: Query) -> None:
        """Delete a file or a directory."""
        await self._act(caller, ref, files.remove_file(query))

    async def mkdir(self, caller: Principal, ref: str, body: files.MkdirBody) -> files.FileEntry:
        """Make a directory."""
        return await self._act(caller, ref, files.make_directory(body))

    async def move(self, caller: Principal, ref: str, body: files.MoveBody) -> files.FileEntry:
        """Give a file or directory another name."""
        return await self._act(caller, ref, files.move_file(body))

    @asynccontextmanager
    async def archive(
        self, caller: Principal, ref: str, query: Query
    ) -> AsyncIterator[RuntimeStream]:
        """Read a tree as tar."""
        async with self._read(caller, ref, files.pack_files(query)) as answer:
            yield answer

    async def unpack(
        self, caller: Principal, ref: str, query: Query, *, data: files.Data
    ) -> files.Unpacked:
        """Extract a tar."""
        return await self._act(caller, ref, files.unpack_files(query, data))

    @asynccontextmanager
    async def watch(
        self, caller: Principal, ref: str, query: Query
    ) -> AsyncIterator[RuntimeStream]:
        """Follow changes as server-sent events. Watching is no activity."""
        _, client = await self._sandboxes.runtime(caller, ref)
        async with client.stream(files.watch_files(query)) as answer:
            yield answer

    async def _look(self, caller: Principal, ref: str, call: RuntimeCall[T]) -> T:
        async with self._sandboxes.reading(caller, ref) as (_, client):
            return await client.call(call)

    async def _act(self, caller: Principal, ref: str, call: RuntimeCall[T]) -> T:
        """Change something, which counts as activity."""
        _, client = await self._sandboxes.runtime(caller, ref, activity=True)
        return await client.call(call)

    @asynccontextmanager
    async def _read(
        self, caller: Principal, ref: str, call: RuntimeCall[bytes]
    ) -> AsyncIterator[RuntimeStream]:
        async with self._sandboxes.reading(caller, ref) as (sandbox, client):
            if WITH_SECRETS in call.query and caller.id != sandbox.owner:
                raise Forbidden(f"only the owner of {sandbox.name} may take secrets out of it")
            async with client.stream(call) as answer:
                yield answer
