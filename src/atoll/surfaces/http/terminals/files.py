"""Routes of files in a sandbox's workspace: list, read, write, move, whole trees, changes.

Paths go to the runtime unchanged; it opens them inside, beneath the workspace.
"""

from collections.abc import AsyncIterator
from typing import Final, Literal

import msgspec
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.form_files import store_files
from atoll.surfaces.http.body.json_body import stream_body
from atoll.surfaces.http.body.streams import ForwardedStream
from atoll.surfaces.http.serving.answers import runtime_body
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext
from atoll.wire.api.files import (
    WORKSPACE,
    FilePlace,
    FileQuery,
    Files,
    MkdirBody,
    MoveBody,
    Uploaded,
)
from atoll.wire.contract import files
from atoll.wire.contract.call import Query
from atoll.wire.contract.files import CREATED, Written
from atoll.wire.http.media_types import BYTES, SSE, TAR

operations = Operations()

MAX_UPLOAD_BYTES: Final = 16 * 1024 * 1024 * 1024
"""The bound on one upload; it streams through, and the workspace's quota is the true limit."""

# A sandbox's file is never a page of ours: it is saved, whatever it claims to be.
_SAVED: Final = {"Content-Disposition": "attachment"}


def runtime_query(**words: object) -> Query:
    """Return the given parameters in the runtime's spelling; None was not given. Raises `Invalid`
    for a place that is named twice."""
    if words.get("path") and words.get("path_b64"):
        raise Invalid("name a file by `path` or by `path_b64`, not by both", field="path_b64")
    given = ((name, value) for name, value in words.items() if value is not None)
    return tuple(
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in given
    )


def named_place(path: str, path_b64: str | None) -> Query:
    """Return a place in the runtime's terms. Raises `Invalid` when no parameter names one."""
    if not path and not path_b64:
        raise Invalid("no file is named: give `path` or `path_b64`", field="path")
    return runtime_query(path=path, path_b64=path_b64)


@operations.serves(Files.list)
async def list_files(
    context: RequestContext,
    sandbox: str,
    *,
    place: FilePlace = WORKSPACE,
    cursor: str | None = None,
    limit: int | None = None,
) -> files.EntryPage:
    query = (*_any(place), *runtime_query(cursor=cursor, limit=limit))
    calls = context.atoll.runtime_calls
    return await calls.look(context.caller, sandbox, files.list_files(query))


@operations.serves(Files.stat)
async def stat_file(
    context: RequestContext, sandbox: str, *, place: FilePlace = WORKSPACE
) -> files.FileEntry:
    call = files.stat_file(_place_query(place))
    return await context.atoll.runtime_calls.look(context.caller, sandbox, call)


@operations.serves(Files.total)
async def total_files(
    context: RequestContext, sandbox: str, *, place: FilePlace = WORKSPACE
) -> files.FileTotal:
    call = files.total_files(_any(place))
    return await context.atoll.runtime_calls.look(context.caller, sandbox, call)


@operations.streams(Files.read)
async def read_file(
    context: RequestContext,
    sandbox: str,
    *,
    place: FilePlace = WORKSPACE,
    secrets: Literal["refuse", "allow"] | None = None,
    byte_range: str | None = None,
) -> Response:
    query = (*_place_query(place), *runtime_query(secrets=secrets))
    call = files.read_file(query, byte_range=byte_range)
    opened = context.atoll.runtime_calls.take(context.caller, sandbox, call)
    return ForwardedStream(opened, media_type=BYTES, headers=_SAVED)


@operations.serves(Files.write)
async def write_file(
    context: RequestContext,
    sandbox: str,
    *,
    place: FilePlace = WORKSPACE,
    mode: str | None = None,
    parents: bool | None = None,
) -> files.FileEntry | Reply[files.FileEntry]:
    query = (*_place_query(place), *runtime_query(mode=mode, parents=parents))
    call = files.write_file(query, stream_body(context.request, MAX_UPLOAD_BYTES))
    calls = context.atoll.runtime_calls
    written = await calls.call(context.caller, sandbox, call, activity=True)
    return Reply(written.entry, CREATED) if written.new else written.entry


async def write_form(
    atoll: Application,
    at: tuple[Principal, str],
    *,
    directory: str,
    data: AsyncIterator[bytes],
    boundary: bytes,
) -> Response:
    """Write each file of a form into `directory`, which is made when it is missing.

    Files that were complete stay when a later one is refused.
    """
    stored: list[Written] = []

    async def store(name: str, content: AsyncIterator[bytes]) -> None:
        path = f"{directory.removesuffix('/')}/{name}" if directory else name
        call = files.write_file(runtime_query(path=path, parents=True), content)
        stored.append(await atoll.runtime_calls.call(*at, call, activity=True))

    await store_files(data, boundary, store)
    brought = Uploaded(entries=tuple(one.entry for one in stored))
    return Json(brought, CREATED if any(one.new for one in stored) else 200)


@operations.serves(Files.remove)
async def remove_file(
    context: RequestContext,
    sandbox: str,
    *,
    place: FilePlace = WORKSPACE,
    recursive: bool | None = None,
) -> None:
    call = files.remove_file((*_place_query(place), *runtime_query(recursive=recursive)))
    await context.atoll.runtime_calls.call(context.caller, sandbox, call, activity=True)


@operations.serves(Files.make_directory)
async def make_directory(context: RequestContext, sandbox: str, body: MkdirBody) -> files.FileEntry:
    call = files.make_directory(runtime_body(body, files.MkdirBody))
    return await context.atoll.runtime_calls.call(context.caller, sandbox, call, activity=True)


@operations.serves(Files.move)
async def move_file(context: RequestContext, sandbox: str, body: MoveBody) -> files.FileEntry:
    call = files.move_file(runtime_body(body, files.MoveBody))
    return await context.atoll.runtime_calls.call(context.caller, sandbox, call, activity=True)


@operations.streams(Files.pack)
async def pack_files(
    context: RequestContext,
    sandbox: str,
    *,
    place: FilePlace = WORKSPACE,
    secrets: Literal["refuse", "allow"] | None = None,
) -> Response:
    call = files.pack_files((*_any(place), *runtime_query(secrets=secrets)))
    opened = context.atoll.runtime_calls.take(context.caller, sandbox, call)
    return ForwardedStream(opened, media_type=TAR, headers=_SAVED)


@operations.serves(Files.unpack)
async def unpack_files(
    context: RequestContext, sandbox: str, *, place: FilePlace = WORKSPACE
) -> files.Unpacked:
    call = files.unpack_files(_any(place), stream_body(context.request, MAX_UPLOAD_BYTES))
    return await context.atoll.runtime_calls.call(context.caller, sandbox, call, activity=True)


@operations.streams(Files.watch)
async def watch_files(
    context: RequestContext,
    sandbox: str,
    *,
    place: FilePlace = WORKSPACE,
    recursive: bool | None = None,
) -> Response:
    call = files.watch_files((*_any(place), *runtime_query(recursive=recursive)))
    opened = context.atoll.runtime_calls.stream(context.caller, sandbox, call)
    return ForwardedStream(opened, media_type=SSE)


@operations.streams(Files.search)
async def search_files(
    context: RequestContext, sandbox: str, *, place: FilePlace = WORKSPACE, query: FileQuery
) -> Response:
    words = msgspec.to_builtins(query)
    call = files.search_files((*_any(place), *runtime_query(**words)))
    opened = context.atoll.runtime_calls.take(context.caller, sandbox, call)
    return ForwardedStream(opened, media_type=SSE)


def _any(place: FilePlace) -> Query:
    return runtime_query(path=place.path, path_b64=place.path_b64)


def _place_query(place: FilePlace) -> Query:
    return named_place(place.path, place.path_b64)
