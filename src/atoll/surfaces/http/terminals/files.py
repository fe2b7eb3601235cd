"""Routes of files in a sandbox's workspace: list, read, write, move, whole trees, changes.

Paths go to the runtime unchanged; it opens them inside, beneath the workspace.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.contract import request_body, shown
from atoll.surfaces.http.body.form_files import store_files
from atoll.surfaces.http.body.json_body import JsonRoute, bounded
from atoll.surfaces.http.body.streams import BYTES, SSE, ForwardedStream, stream_of
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.terminals.runtime_bodies import (
    MkdirBody,
    MoveBody,
)
from atoll.wire.contract import files
from atoll.wire.contract.call import Query as RuntimeQuery
from atoll.wire.contract.files import CREATED, Written

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/files", tags=["files"], route_class=JsonRoute)

MAX_UPLOAD_BYTES = 16 * 1024 * 1024 * 1024
"""The bound on one upload; it streams through, and the workspace's quota is the true limit."""

TAR = "application/x-tar"
FORM = "multipart/form-data"

# A sandbox's file is never a page of ours: it is saved, whatever it claims to be.
_SAVED = {"Content-Disposition": "attachment"}
_FAILURES: dict[int | str, dict[str, Any]] = problems(400, 404, 409, 413, 416, 502)
_BINARY = {"schema": {"type": "string", "format": "binary"}}

FilePath = Annotated[
    str, Query(description="Relative to /workspace, or absolute beneath it.", max_length=4096)
]

ExactPath = Annotated[
    str | None,
    Query(description="In place of `path`, base64: a name that is not UTF-8.", max_length=8192),
]
Secrets = Annotated[
    Literal["refuse", "allow"] | None,
    Query(description="Whether bytes with a secret of the owner may go; only the owner allows it."),
]


class Uploaded(msgspec.Struct, frozen=True):
    """The files of a form, in its order."""

    entries: tuple[files.FileEntry, ...]


def _upload(media_type: str) -> dict[str, Any]:
    return {"requestBody": {"content": {media_type: _BINARY}}}


def _query(**said: object) -> RuntimeQuery:
    """Return the given parameters in the runtime's spelling; None was not given. Raises `Invalid`
    for a place that is named twice."""
    if said.get("path") and said.get("path_b64"):
        raise Invalid("name a file by `path` or by `path_b64`, not by both", field="path_b64")
    words = ((name, value) for name, value in said.items() if value is not None)
    return tuple(
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in words
    )


async def _read_place(path: FilePath = "", path_b64: ExactPath = None) -> RuntimeQuery:
    return _query(path=path, path_b64=path_b64)


async def named(path: FilePath = "", path_b64: ExactPath = None) -> RuntimeQuery:
    """Return a place in the runtime's terms. Raises `Invalid` when no parameter names one."""
    if not path and not path_b64:
        raise Invalid("no file is named: give `path` or `path_b64`", field="path")
    return _query(path=path, path_b64=path_b64)


Place = Annotated[RuntimeQuery, Depends(_read_place)]
"""A directory or file; the workspace itself when left out."""

Named = Annotated[RuntimeQuery, Depends(named)]
"""A directory or file, which has to be named."""


@router.get("", response_model=shown(files.EntryPage), responses=_FAILURES)
@needs(Capability.FILE_READ)
async def list_files(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    place: Place,
    cursor: Annotated[str | None, Query(max_length=8192)] = None,
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> Response:
    """Return a page of a directory, by name."""
    query = (*place, *_query(cursor=cursor, limit=limit))
    return Json(await atoll.runtime_calls.look(*at, files.list_files(query)))


@router.get("/stat", response_model=shown(files.FileEntry), responses=_FAILURES)
@needs(Capability.FILE_READ)
async def stat_file(atoll: Atoll, at: CallerSandbox, *, place: Named) -> Response:
    """Return one entry; a link is not followed."""
    return Json(await atoll.runtime_calls.look(*at, files.stat_file(place)))


@router.get("/total", response_model=shown(files.FileTotal), responses=_FAILURES)
@needs(Capability.FILE_READ)
async def total_files(atoll: Atoll, at: CallerSandbox, *, place: Place) -> Response:
    """Return the size of a tree, before it is packed: no content is read."""
    return Json(await atoll.runtime_calls.look(*at, files.total_files(place)))


@router.get(
    "/content",
    response_model=None,
    responses={
        **stream_of(BYTES, "The file's bytes."),
        206: {"description": "The requested range.", "content": {BYTES: _BINARY}},
        **_FAILURES,
    },
)
@needs(Capability.FILE_READ)
async def read_file(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    place: Named,
    secrets: Secrets = None,
    byte_range: Annotated[
        str | None, Header(alias="Range", description="`bytes=a-b`", max_length=100)
    ] = None,
) -> Response:
    """Return a regular file's bytes, or a range of them."""
    call = files.read_file((*place, *_query(secrets=secrets)), byte_range=byte_range)
    opened = atoll.runtime_calls.take(*at, call)
    return ForwardedStream(opened, media_type=BYTES, headers=_SAVED)


@router.put(
    "/content",
    response_model=shown(files.FileEntry),
    responses={201: {"model": shown(files.FileEntry), "description": "A new file."}, **_FAILURES},
    openapi_extra=_upload(BYTES),
)
@needs(Capability.FILE_WRITE)
async def write_file(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    place: Named,
    mode: Annotated[
        str | None, Query(description="Octal, such as 644.", pattern="^[0-7]{3,4}$")
    ] = None,
    parents: Annotated[bool | None, Query(description="Make missing directories.")] = None,
    request: Request,
) -> Response:
    """Write a file whole or not at all."""
    query = (*place, *_query(mode=mode, parents=parents))
    call = files.write_file(query, bounded(request, MAX_UPLOAD_BYTES))
    written = await atoll.runtime_calls.call(*at, call, activity=True)
    return Json(written.entry, CREATED if written.new else 200)


async def write_form(
    atoll: Atoll, at: CallerSandbox, *, directory: str, request: Request, boundary: bytes
) -> Response:
    """Write each file of a form into `directory`, which is made when it is missing.

    Files that were complete stay when a later one is refused.
    """
    stored: list[Written] = []

    async def store(name: str, content: AsyncIterator[bytes]) -> None:
        path = f"{directory.removesuffix('/')}/{name}" if directory else name
        call = files.write_file(_query(path=path, parents=True), content)
        stored.append(await atoll.runtime_calls.call(*at, call, activity=True))

    await store_files(bounded(request, MAX_UPLOAD_BYTES), boundary, store)
    brought = Uploaded(tuple(one.entry for one in stored))
    return Json(brought, CREATED if any(one.new for one in stored) else 200)


@router.delete("", status_code=204, responses=_FAILURES)
@needs(Capability.FILE_WRITE)
async def remove_file(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    place: Named,
    recursive: Annotated[bool | None, Query(description="Delete whole trees, too.")] = None,
) -> Response:
    """Delete a file, a link or a directory."""
    call = files.remove_file((*place, *_query(recursive=recursive)))
    await atoll.runtime_calls.call(*at, call, activity=True)
    return no_content()


@router.post("/mkdir", status_code=201, response_model=shown(files.FileEntry), responses=_FAILURES)
@needs(Capability.FILE_WRITE)
async def make_directory(atoll: Atoll, at: CallerSandbox, *, body: MkdirBody) -> Response:
    """Make a directory."""
    call = files.make_directory(request_body(body, files.MkdirBody))
    return Json(await atoll.runtime_calls.call(*at, call, activity=True), CREATED)


@router.post("/move", response_model=shown(files.FileEntry), responses=_FAILURES)
@needs(Capability.FILE_WRITE)
async def move_file(atoll: Atoll, at: CallerSandbox, *, body: MoveBody) -> Response:
    """Rename a file or directory."""
    call = files.move_file(request_body(body, files.MoveBody))
    return Json(await atoll.runtime_calls.call(*at, call, activity=True))


@router.get(
    "/archive",
    response_model=None,
    responses={**stream_of(TAR, "The tree as tar."), **_FAILURES},
)
@needs(Capability.FILE_READ)
async def pack_files(
    atoll: Atoll, at: CallerSandbox, *, place: Place, secrets: Secrets = None
) -> Response:
    """Return a whole tree as tar."""
    call = files.pack_files((*place, *_query(secrets=secrets)))
    opened = atoll.runtime_calls.take(*at, call)
    return ForwardedStream(opened, media_type=TAR, headers=_SAVED)


@router.put(
    "/archive",
    response_model=shown(files.Unpacked),
    responses=_FAILURES,
    openapi_extra=_upload(TAR),
)
@needs(Capability.FILE_WRITE)
async def unpack_files(
    atoll: Atoll, at: CallerSandbox, *, place: Place, request: Request
) -> Response:
    """Extract a tar beneath a directory."""
    call = files.unpack_files(place, bounded(request, MAX_UPLOAD_BYTES))
    return Json(await atoll.runtime_calls.call(*at, call, activity=True))


@router.get(
    "/watch",
    response_model=None,
    responses={**stream_of(SSE, "One event for each change."), **_FAILURES},
)
@needs(Capability.FILE_READ)
async def watch_files(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    place: Place,
    recursive: Annotated[bool | None, Query(description="Watch the whole tree.")] = None,
) -> Response:
    """Follow changes as they happen, as server-sent events."""
    call = files.watch_files((*place, *_query(recursive=recursive)))
    opened = atoll.runtime_calls.stream(*at, call)
    return ForwardedStream(opened, media_type=SSE)


@router.get(
    "/search",
    response_model=None,
    responses={
        **stream_of(SSE, "One event for each match, as it is found; the last one is `end`."),
        **_FAILURES,
    },
)
@needs(Capability.FILE_READ)
async def search_files(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    place: Place,
    text: Annotated[
        str, Query(description="The text, on one line.", min_length=1, max_length=1000)
    ],
    where: Annotated[
        Literal["name", "text"], Query(alias="in", description="In names, or in contents.")
    ] = "name",
    exact: Annotated[bool | None, Query(description="Capitals matter.")] = None,
    everything: Annotated[
        bool | None,
        Query(alias="all", description="Also in `.git`, `node_modules` and caches of programs."),
    ] = None,
    limit: Annotated[int | None, Query(ge=1, le=5000)] = None,
) -> Response:
    """Search beneath a directory, inside the sandbox: in names, or in the lines of files.

    The search ends at 1,000,000 files, 2 GiB or 30 seconds, which its last event says; closing the
    connection ends it earlier. Nothing of a secret is shown, and a secret is not found.
    """
    wanted = {"text": text, "in": where, "exact": exact, "all": everything, "limit": limit}
    opened = atoll.runtime_calls.take(*at, files.search_files((*place, *_query(**wanted))))
    return ForwardedStream(opened, media_type=SSE)
