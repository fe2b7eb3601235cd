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
from atoll.wire.contract.call import Query, RuntimeCall
from atoll.wire.contract.files import watch_files

T = TypeVar("T")

WITH_SECRETS = ("secrets", "allow")
"""Said by the owner who takes out bytes that hold a secret, knowing it."""


class Files:
    """Calls and streams are those of `wire.contract.files`. Everything raises `NotFound`,
    `Conflict`, `Unavailable`, and what the runtime's problem documents stand for."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def look(self, caller: Principal, ref: str, call: RuntimeCall[T]) -> T:
        """Look at the workspace."""
        async with self._sandboxes.reading(caller, ref) as (_, client):
            return await client.call(call)

    async def change(self, caller: Principal, ref: str, call: RuntimeCall[T]) -> T:
        """Change the workspace, which counts as activity."""
        _, client = await self._sandboxes.runtime(caller, ref, activity=True)
        return await client.call(call)

    @asynccontextmanager
    async def take(
        self, caller: Principal, ref: str, call: RuntimeCall[bytes]
    ) -> AsyncIterator[RuntimeStream]:
        """Take a file or a tree out. Raises `Forbidden` when somebody else than the owner takes
        secrets."""
        async with self._sandboxes.reading(caller, ref) as (sandbox, client):
            if WITH_SECRETS in call.query and caller.id != sandbox.owner:
                raise Forbidden(f"only the owner of {sandbox.name} may take secrets out of it")
            async with client.stream(call) as answer:
                yield answer

    @asynccontextmanager
    async def watch(
        self, caller: Principal, ref: str, query: Query
    ) -> AsyncIterator[RuntimeStream]:
        """Follow changes as server-sent events. Watching is no activity."""
        _, client = await self._sandboxes.runtime(caller, ref)
        async with client.stream(watch_files(query)) as answer:
            yield answer
