"""HTTP for the files of a sandbox, as `docs/program/runtime-contract.md` has it.

Requests become calls of `Files`, answers become JSON, bytes and events; errors are raised
and become problem documents where these routes are mounted.
"""

import asyncio
import base64
import binascii
import os
from collections.abc import AsyncIterator

import msgspec
from aiohttp import web

from atoll.domain.errors import AtollError, Invalid
from atoll.domain.files.workspace_path import named_path, workspace_path
from atoll.runtime.api.exit import Transfer
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import answer, query_flag, query_integer, read_json
from atoll.runtime.files.content import Content
from atoll.runtime.files.files import MAX_PAGE, FileChange
from atoll.runtime.files.search import MAX_MATCHES, FileSearch
from atoll.runtime.files.tool import Tool
from atoll.wire.contract.files import EntryPage, MkdirBody, MoveBody

CHUNK_BYTES = 256 * 1024
JUDGED_WHOLE_BYTES = 4 * 1024 * 1024
"""Of an archive; what comes after is looked at as it goes, and cut off."""
KEEPALIVE_SECONDS = 15.0
MAX_WAITING_CHANGES = 1024
SAFE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


async def _list(request: web.Request) -> web.Response:
    """Return a page of a directory."""
    limit = query_integer(request, "limit", MAX_PAGE, most=MAX_PAGE) or MAX_PAGE
    after = _cursor(request.query.get("cursor", ""))
    page = await parts_of(request).files.list(_path(request), after=after, limit=limit)
    token = None if page.after is None else base64.urlsafe_b64encode(page.after).decode()
    return answer(EntryPage(page.entries, token))


async def _stat(request: web.Request) -> web.Response:
    """Return one entry."""
    return answer(await parts_of(request).files.stat(_path(request)))


async def _total(request: web.Request) -> web.Response:
    """Return the size of a tree."""
    return answer(await parts_of(request).files.total(_path(request)))


async def _read(request: web.Request) -> web.StreamResponse:
    """Return the bytes of a file, or one range of them (RFC 9110 §14)."""
    exit_ = Transfer(request)
    content = await parts_of(request).files.open(_named_path(request))
    try:
        return await _send(request, content, exit_)
    finally:
        content.close()


async def _write(request: web.Request) -> web.Response:
    """Replace or make a file with the request's body."""
    entry, new = await parts_of(request).files.write(
        _named_path(request),
        request.content.iter_chunked(CHUNK_BYTES),
        mode=_mode(request.query.get("mode")),
        parents=query_flag(request, "parents"),
    )
    return answer(entry, status=201 if new else 200)


async def _remove(request: web.Request) -> web.Response:
    """Remove a file or a directory."""
    await parts_of(request).files.remove(
        _named_path(request), recursive=query_flag(request, "recursive")
    )
    return web.Response(status=204)


async def _mkdir(request: web.Request) -> web.Response:
    """Make a directory."""
    body = await read_json(request, MkdirBody)
    return answer(
        await parts_of(request).files.mkdir(named_path(body.path), parents=body.parents), 201
    )


async def _move(request: web.Request) -> web.Response:
    """Rename."""
    body = await read_json(request, MoveBody)
    source, target = named_path(body.source, field="from"), named_path(body.to, field="to")
    return answer(await parts_of(request).files.move(source, target, overwrite=body.overwrite))


async def _archive(request: web.Request) -> web.StreamResponse:
    """Send a tree as a tar. An incomplete tar breaks off without an end mark."""
    exit_ = Transfer(request)
    async with parts_of(request).files.archive(_path(request)) as tool:
        first = await _beginning(tool, exit_)
        response = web.StreamResponse(headers=SAFE_HEADERS)
        response.content_type = "application/x-tar"
        await response.prepare(request)
        await response.write(first)
        while data := await tool.read():
            exit_.pass_on(data)
            await response.write(data)
        try:
            await tool.finish()
        except AtollError as error:
            raise ConnectionResetError(error.message) from error
        await response.write_eof()
        return response


async def _extract(request: web.Request) -> web.Response:
    """Extract a tar into a tree."""
    chunks = request.content.iter_chunked(CHUNK_BYTES)
    return answer(await parts_of(request).files.extract(_path(request), chunks))


async def _watch(request: web.Request) -> web.StreamResponse:
    """Send changes as server-sent events, until the client leaves."""
    recursive = query_flag(request, "recursive")
    async with parts_of(request).files.watch(_path(request), recursive=recursive) as changes:
        response = await _events(request)
        await response.write(b"retry: 1000\n: watching\n\n")
        async with asyncio.TaskGroup() as group:
            waiting: asyncio.Queue[FileChange | None] = asyncio.Queue(MAX_WAITING_CHANGES)
            task = group.create_task(_collect(changes, waiting))
            try:
                await _tell(waiting, response)
            finally:
                task.cancel()
        return response


async def _search(request: web.Request) -> web.StreamResponse:
    """Send what is found as server-sent events; a client that leaves ends the search."""
    parts = parts_of(request)
    async with parts.files.search(_query(request), parts.redactions.lexicon) as matches:
        first = await anext(matches, None)  # what fails at once is a problem document
        response = await _events(request)
        while first is not None:
            await response.write(b"data: " + msgspec.json.encode(first) + b"\n\n")
            first = await anext(matches, None)
        return response


def routes() -> list[web.RouteDef]:
    """Return every `/files` route."""
    return [
        web.get("/files", _list, allow_head=False),
        web.delete("/files", _remove),
        web.get("/files/stat", _stat, allow_head=False),
        web.get("/files/total", _total, allow_head=False),
        web.get("/files/content", _read, allow_head=False),
        web.put("/files/content", _write),
        web.post("/files/mkdir", _mkdir),
        web.post("/files/move", _move),
        web.get("/files/archive", _archive, allow_head=False),
        web.put("/files/archive", _extract),
        web.get("/files/watch", _watch, allow_head=False),
        web.get("/files/search", _search, allow_head=False),
    ]


def _path(request: web.Request) -> str:
    """Return `?path=`, or `?path_b64=` for names that are not UTF-8; absent is the workspace."""
    exact = request.query.get("path_b64")
    if exact is None:
        return workspace_path(request.query.get("path", ""))
    return workspace_path(os.fsdecode(_decode_base64(exact, "path_b64")), field="path_b64")


def _named_path(request: web.Request) -> str:
    return named_path(_path(request))


def _query(request: web.Request) -> FileSearch:
    where = request.query.get("in", "name")
    if where not in ("name", "text"):
        raise Invalid("in must be name or text", field="in")
    limit = query_integer(request, "limit", MAX_PAGE, most=MAX_MATCHES) or MAX_PAGE
    return FileSearch(
        _path(request),
        request.query.get("text", ""),
        contents=where == "text",
        exact=query_flag(request, "exact"),
        everything=query_flag(request, "all"),
        limit=limit,
    )


async def _events(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers=SAFE_HEADERS)
    response.content_type = "text/event-stream"
    await response.prepare(request)
    return response


def _cursor(text: str) -> bytes | None:
    if not text:
        return None
    name = _decode_base64(text, "cursor")
    if not name or b"\0" in name or b"/" in name or len(name) > 255:
        raise Invalid("this cursor is not one of ours: start without it", field="cursor")
    return name


def _decode_base64(text: str, field: str) -> bytes:
    """Return the bytes of a base64 text, of either alphabet. Raises `Invalid`."""
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid(f"{field} is not base64", field=field) from error


def _mode(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if len(text) > 4 or not all(digit in "01234567" for digit in text) or int(text, 8) > 0o777:
        raise Invalid("mode is three octal digits such as 644", field="mode")
    return int(text, 8)


async def _beginning(tool: Tool, exit_: Transfer) -> bytes:
    """Return so much of an archive that a small one is refused before anything was sent."""
    first = bytearray()
    while len(first) < JUDGED_WHOLE_BYTES:
        data = await tool.read()
        if not data:
            break
        first += data
        exit_.judge(data)
    if not first:
        await tool.finish()
    return bytes(first)


async def _send(request: web.Request, content: Content, exit_: Transfer) -> web.StreamResponse:
    start, length, partial = _span(request, content.size)
    if exit_.guarded:
        # Looked at whole first, and a part with its surroundings: a secret may begin before it.
        begin = max(0, start - exit_.reach)
        async for data in content.read(begin, start + length + exit_.reach - begin):
            exit_.judge(data)
        exit_ = exit_.anew()
    response = web.StreamResponse(status=206 if partial else 200, headers=SAFE_HEADERS)
    response.content_type = "application/octet-stream"
    response.content_length = length
    response.headers["Accept-Ranges"] = "bytes"
    if partial:
        response.headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{content.size}"
    await response.prepare(request)
    sent = 0
    async for data in content.read(start, length):
        exit_.pass_on(data)
        await response.write(data)
        sent += len(data)
    if sent < length:
        raise ConnectionResetError("the file shrank while it was read")
    await response.write_eof()
    return response


def _span(request: web.Request, size: int) -> tuple[int, int, bool]:
    """Return start, length, and whether it is a part. An unreadable Range is ignored, as RFC 9110
    has it; one behind the end is refused."""
    try:
        asked = request.http_range
    except ValueError:
        return 0, size, False
    if asked.start is None and asked.stop is None:
        return 0, size, False
    start = asked.start or 0
    start = max(0, size + start) if start < 0 else start
    stop = size if asked.stop is None else min(asked.stop, size)
    if start >= stop:
        raise web.HTTPRequestRangeNotSatisfiable(headers={"Content-Range": f"bytes */{size}"})
    return start, stop - start, True


async def _collect(
    changes: AsyncIterator[FileChange], waiting: "asyncio.Queue[FileChange | None]"
) -> None:
    """Queue changes. The queue is bounded: a slow client slows the tool, and the kernel's own queue
    then overflows, which is reported as such."""
    async for change in changes:
        await waiting.put(change)
    await waiting.put(None)


async def _tell(waiting: "asyncio.Queue[FileChange | None]", response: web.StreamResponse) -> None:
    while True:
        try:
            async with asyncio.timeout(KEEPALIVE_SECONDS):
                change = await waiting.get()
        except TimeoutError:
            await response.write(b": still watching\n\n")
            continue
        if change is None:
            return
        event = {"type": change.kind, "path": change.path}
        if change.origin is not None:
            event["from"] = change.origin
        await response.write(b"data: " + msgspec.json.encode(event) + b"\n\n")
