"""Sandboxes and what runs in them, for programs: the blocking client's methods, awaited, and what a
program wants otherwise than a command line does."""

import uuid
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from atoll.client.aio.made.execs import PlainAsyncExecs
from atoll.client.aio.made.files import PlainAsyncFiles
from atoll.client.aio.made.sandboxes.sandboxes import PlainAsyncSandboxes
from atoll.client.aio.made.terminals import PlainAsyncTerminals
from atoll.client.aio.nouns import AsyncNoun
from atoll.client.aio.terminal import AttachedTerminal, open_attachment
from atoll.client.files import FileSearch, read_search_line, search_call, unpack_call, write_call
from atoll.client.made.execs import Exec, ExecBody
from atoll.client.made.files import Unpacked
from atoll.client.made.sandboxes.requests import CreateBody
from atoll.client.made.sandboxes.sandboxes import SandboxPage
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.stream_lines import FoundFile, OutputLine
from atoll.client.transport import Call, Pairs, api_path, get, post, query_of
from atoll.domain.errors import Failed, Unavailable

READY: Final = ("ready", "active")
COMING: Final = ("requested", "provisioning")
WAIT_SECONDS: Final = 30
LINES: Final = "application/x-ndjson"
BYTES: Final = "application/octet-stream"


class AsyncSandboxes(PlainAsyncSandboxes):
    """Sandboxes; `name` is a sandbox's name or its id."""

    async def create(self, body: CreateBody, *, idempotency_key: str | None = None) -> Sandbox:
        """Create a sandbox; returns before it is ready. Repeated with the same key within a day,
        it is the same one; without a key, each call makes another."""
        key = idempotency_key or uuid.uuid4().hex
        return await self.perform(lambda sandboxes: sandboxes.create(body, idempotency_key=key))

    async def ready(self, name: str, *, seconds: int = 300) -> Sandbox:
        """Return a sandbox once it is ready. Raises `Failed` with the reason when it will not be,
        `Unavailable` after `seconds`."""
        left = seconds
        while True:
            sandbox = await self.get(name, wait_seconds=max(1, min(left, WAIT_SECONDS)))
            left -= WAIT_SECONDS
            if sandbox.state in READY:
                return sandbox
            if sandbox.state not in COMING:
                raise Failed(f"the sandbox {sandbox.name} is {sandbox.state}: {sandbox.reason}")
            if left <= 0:
                raise Unavailable(f"the sandbox {sandbox.name} is not ready yet", code="not_ready")

    async def list(
        self,
        *,
        states: tuple[str, ...] = (),
        harness: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        job_id: str | None = None,
        limit: int = 100,
    ) -> AsyncIterator[Sandbox]:
        """Yield the sandboxes, those in one of `states` when any is given, and those of a consumer
        when it is named, `limit` a request."""
        consumer = query_of(harness=harness, session_id=session_id, run_id=run_id, job_id=job_id)
        only = (*(("state", state) for state in states), *consumer)
        query: Pairs = (("limit", str(limit)), *only)
        page = await self._connection.read(SandboxPage, get("sandboxes", query=query))
        while True:
            for sandbox in page.sandboxes:
                yield sandbox
            if not page.next:
                return
            following = get("sandboxes", query=(*query, ("cursor", page.next)))
            page = await self._connection.read(SandboxPage, following)


class AsyncTerminals(PlainAsyncTerminals):
    """The terminals of a sandbox, and what was recorded of them."""

    def attach(
        self, name: str, terminal: str, *, since: int | None = None, read_only: bool = False
    ) -> AbstractAsyncContextManager[AttachedTerminal]:
        """Attach for the length of an `async with`; `since` continues at an offset."""
        query = {} if since is None else {"since": str(since)}
        more = {"read_only": "true"} if read_only else {}
        return open_attachment(self._connection, name, terminal, {**query, **more})


class AsyncExecs(PlainAsyncExecs):
    """Commands run in sandboxes."""

    async def run(self, name: str, body: ExecBody) -> Exec:
        """Run a command and wait for its end, or with `background` for its start."""
        call = post("sandboxes", name, "exec", value=body)
        return await self._connection.read(Exec, call._replace(timeout=None))

    async def stream(self, name: str, body: ExecBody) -> AsyncIterator[OutputLine]:
        """Run a command and yield its output as it comes; the last line has `exit`."""
        call = post("sandboxes", name, "exec", value=body)
        headers = (*call.headers, ("Accept", LINES))
        async with self._connection.open(call._replace(headers=headers, timeout=None)) as answer:
            async for line in answer.lines():
                yield OutputLine.parse(line)


class AsyncFiles(PlainAsyncFiles):
    """Files of sandboxes, below `/workspace`."""

    async def read(self, name: str, path: str) -> bytes:
        """Return a file's content. Raises `Failed` beyond 64 MiB: `open` reads larger ones."""
        async with self._connection.open(_content(name, path)) as answer:
            return await answer.body()

    @asynccontextmanager
    async def open(self, name: str, path: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a file and hand out its content, piece by piece."""
        async with self._connection.open(_content(name, path)) as answer:
            yield answer.pieces()

    async def write(
        self, name: str, path: str, data: bytes | AsyncIterable[bytes], *, mode: int | None = None
    ) -> None:
        """Write a file whole or not at all, and make its parents. Without `mode` a file that is
        there keeps its own."""
        await self._connection.call(write_call(name, path, mode), data)

    async def unpack(self, name: str, path: str, archive: bytes | AsyncIterable[bytes]) -> int:
        """Unpack a tar archive below a path. Returns how many files it wrote."""
        unpacked = await self._connection.call(unpack_call(name, path), archive)
        return Unpacked(unpacked.value).files


class AsyncFileSearch(AsyncNoun[FileSearch]):
    """The search in the files of sandboxes."""

    blocking = FileSearch

    async def find(self, name: str, query: Pairs) -> AsyncIterator[FoundFile]:
        """Yield what is found as it is found; the last one is of type `end`."""
        async with self._connection.open(search_call(name, query)) as answer:
            async for line in answer.lines():
                if (file := read_search_line(line)) is not None:
                    yield file


def _content(name: str, path: str) -> Call:
    headers = (("Accept", BYTES),)
    return Call("GET", api_path("sandboxes", name, "files", "content"), (("path", path),), headers)
