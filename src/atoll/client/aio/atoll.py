"""`Atoll`: the client that programs use. Nothing here prints, and nothing is sent before it is
opened."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

from atoll.client.aio.connection import Connection
from atoll.client.aio.events import AsyncEvents
from atoll.client.aio.made.client import MadeNouns
from atoll.client.aio.records import AuditRecords, WebhookRecords
from atoll.client.aio.retries import USUAL_RETRIES, Retries
from atoll.client.aio.work import (
    AsyncExecs,
    AsyncFiles,
    AsyncFileSearch,
    AsyncSandboxes,
    AsyncTerminals,
)
from atoll.client.aio.workers import AsyncWorkers
from atoll.client.made.people.me import Me
from atoll.client.server import Server, find_server, refuse_plain, server_at
from atoll.client.transport import get
from atoll.client.visit import begin_visit, end_visit, read_link


class Atoll(MadeNouns):
    """Client of one control plane, for an `async with`.

    Methods raise the classes of `atoll.domain.errors`, which `atoll.client` publishes, too; `code`
    is the stable word for what went wrong, `request_id` names the request in the server's log.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retries: Retries = USUAL_RETRIES,
        locate: Callable[[], Server] | None = None,
    ) -> None:
        """Connect to `url` with a token. Without them, to what the command line would: the
        variables `ATOLL_URL` and `ATOLL_TOKEN`, else the server that this person runs here.
        `locate` names another way to find it, and is called at each request. Raises `Invalid` for
        an address that is none, `Forbidden` for plain http that leaves this machine."""
        self._locate = locate or _locator(url, token)
        self._connection = Connection(self._locate, retries)
        super().__init__(self._connection)
        self.sandboxes = AsyncSandboxes(self._connection)
        self.terminals = AsyncTerminals(self._connection)
        self.workers = AsyncWorkers(self._connection)
        self.execs = AsyncExecs(self._connection)
        self.files = AsyncFiles(self._connection)
        self.search = AsyncFileSearch(self._connection)
        self.events = AsyncEvents(self._connection)
        self.webhooks = WebhookRecords(self._connection)
        self.audit = AuditRecords(self._connection)

    @classmethod
    @asynccontextmanager
    async def visit(cls, link: str, name: str | None = None) -> AsyncIterator["Atoll"]:
        """Enter by a share link as a guest of this name, and leave at the end of the block. Raises
        `Invalid` for what is no link, `Unauthenticated` for one that is over."""
        visit = await asyncio.to_thread(begin_visit, read_link(link), name)
        try:
            async with cls(locate=lambda: visit.server) as guest:
                yield guest
        finally:
            await asyncio.to_thread(end_visit, visit)

    async def __aenter__(self) -> Self:
        """Open the connections."""
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every connection."""
        await self._connection.__aexit__()

    async def me(self) -> Me:
        """Return the caller."""
        return await self._connection.read(Me, get("me"))

    @property
    def url(self) -> str:
        """The address of the server as of now."""
        return self._locate().url


def _locator(url: str | None, token: str | None) -> Callable[[], Server]:
    if url is None:
        return lambda: find_server(os.environ)
    named = server_at(url, "the address")._replace(token=token or "")
    if token:
        refuse_plain(named, os.environ)
    return lambda: named
