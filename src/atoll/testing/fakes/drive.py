"""A drive in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from atoll.domain.drive.drive import (
    FOLDER_TYPE,
    BegunConnection,
    DriveAccess,
    DriveFile,
    DriveGrant,
    DrivePage,
    DriveQuery,
    DriveUpload,
    export_type,
)
from atoll.domain.errors import AtollError, Forbidden, NotFound
from atoll.ports.outside.drive import DriveDownload
from atoll.wire.words.library import ROOT_FOLDER

AT = datetime(2026, 1, 2, tzinfo=UTC)
LATER = datetime(2200, 1, 1, tzinfo=UTC)
CODE, REFRESH = "a-code-of-google", "1//a-refresh-token-for-tests"


@dataclass
class FileAtDrive:
    """A file at a `FakeDrive`, where it is, and its bytes: those of an export, too."""

    file: DriveFile
    folder: str = ROOT_FOLDER
    content: bytes = b""


@dataclass
class FakeDrive:
    """A `ports.outside.drive.CloudDrive` whose files are `kept` by id. Raises `failure` while it is
    set; `codes` are consents that can be traded, by code the verifier; `revoked` are tokens that
    ended."""

    kept: dict[str, FileAtDrive] = field(default_factory=dict)
    failure: AtollError | None = None
    codes: dict[str, str] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    begun: list[BegunConnection] = field(default_factory=list)

    def keep(
        self, file_id: str, name: str, content: bytes = b"", *, folder: str = ROOT_FOLDER,
        media_type: str = "text/plain",
    ) -> DriveFile:  # fmt: skip
        """Keep a file; return it."""
        own = media_type.startswith("application/vnd.google-apps.")
        made = DriveFile(file_id, name, media_type, None if own else len(content), AT)
        self.kept[file_id] = FileAtDrive(made, folder, content)
        return made

    def consent_url(self, begun: BegunConnection) -> str:
        """See the port. Whoever opens it consents: `CODE` can be traded."""
        self.begun.append(begun)
        self.codes[CODE] = begun.verifier
        return f"https://drive.example/consent?state={begun.state}"

    async def connect(self, begun: BegunConnection, code: str) -> DriveGrant:
        """See the port."""
        self._enter()
        if self.codes.pop(code, None) != begun.verifier:
            raise Forbidden("The drive did not give this code.", code="drive_ended")
        return DriveGrant(REFRESH, "ada@example.org")

    async def access(self, refresh_token: str) -> DriveAccess:
        """See the port."""
        self._enter()
        if refresh_token in self.revoked:
            raise Forbidden("The drive has ended this consent.", code="drive_ended")
        return DriveAccess("an-access-token", LATER)

    async def revoke(self, refresh_token: str) -> None:
        """See the port."""
        self._enter()
        self.revoked.append(refresh_token)

    async def page(self, access: DriveAccess, query: DriveQuery) -> DrivePage:
        """See the port."""
        self._enter(access)
        files = [
            entry.file
            for entry in self.kept.values()
            if (query.name.lower() in entry.file.name.lower() if query.name else
                entry.folder == query.folder)
        ]  # fmt: skip
        files.sort(key=lambda file: (file.media_type != FOLDER_TYPE, file.name))
        begin = int(query.cursor or 0)
        end = begin + query.limit
        return DrivePage(tuple(files[begin:end]), str(end) if end < len(files) else "")

    @asynccontextmanager
    async def open(
        self, access: DriveAccess, file_id: str, form: str | None
    ) -> AsyncIterator[DriveDownload]:
        """See the port."""
        there = self._find_file(access, file_id)
        export_type(there.file, form)
        yield DriveDownload(there.file, _chunks_of(there.content))

    async def store(
        self, access: DriveAccess, upload: DriveUpload, content: AsyncIterator[bytes]
    ) -> DriveFile:
        """See the port."""
        before = self._find_file(access, upload.file_id) if upload.file_id else None
        data = b"".join([part async for part in content])
        if before is not None:
            before.file = replace(before.file, name=upload.name, size=len(data))
            before.content = data
            return before.file
        return self.keep(f"new-{len(self.kept)}", upload.name, data, folder=upload.folder)

    def _enter(self, access: DriveAccess | None = None) -> None:
        if self.failure is not None:
            raise self.failure
        if access is not None and REFRESH in self.revoked:
            raise Forbidden("The drive refused the token.", code="drive_refused")

    def _find_file(self, access: DriveAccess, file_id: str) -> FileAtDrive:
        self._enter(access)
        if file_id not in self.kept:
            raise NotFound("The drive shows no such file.")
        return self.kept[file_id]


async def _chunks_of(content: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), 65_536):
        yield content[begin : begin + 65_536]
