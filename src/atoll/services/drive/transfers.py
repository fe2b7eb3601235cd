"""Files between a person's drive and a sandbox's workspace: they stream through and are not kept.

The runtime opens every path inside, beneath the workspace, and looks for secrets in what leaves. An
import appears whole under its name or not at all.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from atoll.domain.drive.drive import (
    MAX_TRANSFER_BYTES,
    DriveAccess,
    DriveFile,
    DrivePage,
    DriveQuery,
    DriveUpload,
    check_query,
    read_file_id,
    upload_name,
    workspace_name,
)
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
)
from atoll.domain.event import Json, sandbox_stream
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient
from atoll.services.drive.connections import DriveConnections, check_person
from atoll.services.journals.events import Events, Note
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.runtime_calls import WITH_SECRETS, RuntimeCalls
from atoll.wire.contract import files
from atoll.wire.contract.files import FileEntry, MoveBody
from atoll.wire.words.library import ROOT_FOLDER

MAX_TRANSFERS = 8
"""Transfers at once; more wait their turn. Each has a few megabytes in memory."""

_MAX_NOTED = 1000


@dataclass(frozen=True, slots=True)
class DriveImport:
    """A request for a file of a drive, in `form` where it has to be exported. `path` is its place
    in the workspace; one that ends with `/`, or is empty, is a directory. What is there already is
    replaced with `replace` alone."""

    file: str
    path: str = ""
    form: str | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class DriveExport:
    """A request to store the file at `path` in a folder of a drive, or as a new version of `file`.
    `name` is by default the file's own. `with_secrets`: the owner lets a secret out, knowing it."""

    path: str
    folder: str = ROOT_FOLDER
    name: str | None = None
    file: str | None = None
    with_secrets: bool = False


class DriveTransfers:
    """Use cases on files of drives. All raise what `DriveConnections` and the port `CloudDrive`
    do; those with a sandbox, what calls of its runtime raise."""

    def __init__(
        self,
        sandboxes: Sandboxes,
        calls: RuntimeCalls,
        connections: DriveConnections,
        *,
        runtimes: RuntimeAccess,
        events: Events,
        max_bytes: int = MAX_TRANSFER_BYTES,
    ) -> None:
        self._sandboxes = sandboxes
        self._runtimes = runtimes
        self._calls = calls
        self._connections = connections
        self._events = events
        self._max_bytes = max_bytes
        self._room = asyncio.Semaphore(MAX_TRANSFERS)

    async def page(self, caller: Principal, query: DriveQuery) -> DrivePage:
        """Return a page of the caller's files. Raises `Invalid` with the field."""
        check_query(query)
        async with self._access(caller) as access:
            return await self._connections.drive.page(access, query)

    async def import_file(
        self, caller: Principal, ref: str, wanted: DriveImport
    ) -> tuple[DriveFile, FileEntry]:
        """Stream a file into the workspace. Raises `Conflict` (code `exists`) when something of
        that name is there, `LimitReached` (code `too_large`)."""
        check_person(caller)
        read_file_id(wanted.file)
        sandbox, client = await self._runtimes.runtime(caller, ref, activity=True)
        async with (
            self._room,
            self._access(caller) as access,
            self._connections.drive.open(access, wanted.file, wanted.form) as opened,
        ):
            name = workspace_name(opened.file, wanted.form)
            directory = not wanted.path or wanted.path.endswith("/")
            path = f"{wanted.path}{name}" if directory else wanted.path
            content = BoundedContent(opened.body, self._max_bytes)
            content.check(opened.file.size or 0)
            entry = await _write(client, path, content, replace=wanted.replace)
        await self._tell(
            caller, sandbox, "drive.imported", file=opened.file.id, path=path, count=content.bytes
        )
        return opened.file, entry

    async def export_file(self, caller: Principal, ref: str, wanted: DriveExport) -> DriveFile:
        """Stream a file of the workspace to the drive."""
        check_person(caller)
        if wanted.file is not None and wanted.folder != ROOT_FOLDER:
            raise Invalid(
                "a new version stays where its file is: leave the folder out", field="folder"
            )
        name = upload_name(wanted.name or wanted.path.rpartition("/")[2])
        upload = DriveUpload(
            name,
            read_file_id(wanted.folder, field="folder"),
            "" if wanted.file is None else read_file_id(wanted.file),
        )
        query = (
            ("path", wanted.path),
            WITH_SECRETS if wanted.with_secrets else ("secrets", "refuse"),
        )
        sandbox = await self._sandboxes.get(caller, ref)
        async with (
            self._room,
            self._access(caller) as access,
            self._calls.take(caller, sandbox.id, files.read_file(query)) as answer,
        ):
            content = BoundedContent(answer.body, self._max_bytes)
            file = await self._connections.drive.store(access, upload, content.parts())
        await self._tell(
            caller, sandbox, "drive.exported", file=file.id, path=wanted.path, count=content.bytes
        )
        return file

    @asynccontextmanager
    async def _access(self, caller: Principal) -> AsyncIterator[DriveAccess]:
        """Yield the caller's access; one that the drive refuses is not used again."""
        access = await self._connections.access(caller)
        try:
            yield access
        except Forbidden as error:
            if error.code == "drive_refused":
                self._connections.forget(access)
            raise

    async def _tell(
        self, caller: Principal, sandbox: Sandbox, kind: str, *, file: str, path: str, count: int
    ) -> None:
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "generation": sandbox.generation,
            "file": file,
            "path": path[:_MAX_NOTED],
            "bytes": count,
        }
        await self._events.record(caller, Note(sandbox_stream(sandbox.id), kind, payload))


class BoundedContent:
    """Bytes on their way, counted and bounded. `failed` is the error that ended them: who reads
    them may report another."""

    def __init__(self, body: AsyncIterator[bytes], max_bytes: int) -> None:
        self._body = body
        self._max_bytes = max_bytes
        self.bytes = 0
        self.failed: AtollError | None = None

    def check(self, size: int) -> None:
        """Raise `LimitReached` (code `too_large`) for more than may pass."""
        if size > self._max_bytes:
            raise LimitReached(
                f"The file is larger than {self._max_bytes} bytes.", code="too_large"
            )

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive."""
        try:
            async for part in self._body:
                self.bytes += len(part)
                self.check(self.bytes)
                yield part
        except AtollError as error:
            self.failed = error
            raise


async def _write(
    client: RuntimeClient, path: str, content: BoundedContent, *, replace: bool
) -> FileEntry:
    """Write a file whole or not at all; without `replace` only where nothing is."""
    if replace:
        return await _stream_to_file(client, path, content)
    with suppress(NotFound):
        await client.call(files.stat_file((("path", path),)))
        raise Conflict(
            f"There is {path!r} in the workspace already: say that it may be replaced, or choose "
            "another name.",
            code="exists",
            field="path",
        )
    directory, slash, _ = path.rpartition("/")
    part = f"{directory}{slash}.atoll-import-{secrets.token_hex(8)}.part"
    try:
        await _stream_to_file(client, part, content)
    except AtollError as error:
        error.message = error.message.replace(repr(part), repr(path))
        raise
    try:
        # The move is refused when something of that name came in the meantime.
        return await client.call(files.move_file(MoveBody(source=part, to=path)))
    except BaseException:
        with suppress(AtollError):
            await client.call(files.remove_file((("path", part),)))
        raise


async def _stream_to_file(client: RuntimeClient, path: str, content: BoundedContent) -> FileEntry:
    """Write content to a file of the sandbox. An error of the content takes precedence."""
    query = (("path", path), ("parents", "true"))
    try:
        written = await client.call(files.write_file(query, content.parts()))
    except AtollError as error:
        raise content.failed or error from error
    return written.entry
