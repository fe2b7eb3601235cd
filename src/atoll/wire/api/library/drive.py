"""A person's Google Drive: its connection, its files, and their way to a workspace and back."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, Paging, SandboxRef
from atoll.wire.api.operation import Answer, Area, Failures, Request, SealedRequest, operation
from atoll.wire.contract.files import FileEntry
from atoll.wire.words.library import MAX_FILE_NAME, MAX_SEARCH, ROOT_FOLDER

Told = Annotated[str, Meta(max_length=2048)]
FileId = Annotated[str, Meta(min_length=1, max_length=128)]
WorkspacePath = Annotated[str, Meta(max_length=4096)]
Folder = Annotated[str, Meta(description="Its id.", max_length=128)]
FileName = Annotated[
    str, Meta(description="Search all names for this instead.", max_length=MAX_SEARCH)
]

Brought = Annotated[str, Meta(max_length=2048)]
"""A value that a browser brings back from Google."""


class DriveView(Answer):
    """The caller's drive. `available` is false where no administrator has set Google Drive up;
    `account` and `connected_at` are null while nothing is connected."""

    available: bool
    account: str | None
    connected_at: str | None


class ConsentView(Answer):
    """The address at Google where the person consents."""

    url: str


class ConsentBody(SealedRequest):
    """The answer that Google sent by the browser; without consent `code` is empty."""

    state: Told
    code: Told = ""


class DisconnectedView(Answer):
    """The end of a connection. `revoked` is false when Google could not be reached: the person ends
    the consent in their Google account."""

    revoked: bool


class DriveFileView(Answer):
    """A file or folder, named by others. `forms` are those in which a document of Google's own is
    exported, the usual one first. `size` is in bytes, null where it is not known."""

    id: str
    name: str
    folder: bool
    media_type: str
    size: int | None
    modified_at: str | None
    forms: list[str]
    importable: bool


class DriveFileList(Answer):
    """Files, folders first."""

    files: list[DriveFileView]
    next: str | None


class DriveImportBody(Request):
    """A file of the caller's drive, by its id. `path` is its place in the workspace; with a `/` at
    its end, or left out, it is the directory, and the file keeps its name. `form` is the ending of
    the form in which a document is exported, such as `md` or `pdf`."""

    file: FileId
    path: WorkspacePath = ""
    form: Annotated[str, Meta(pattern=r"^[a-z]{1,8}\Z")] | None = None
    replace: bool = False


class DriveExportBody(Request):
    """A file of the workspace. It becomes a new file in `folder`, or with `file` a new version of
    that one. `secrets`: whether bytes with a secret of the owner may go; only the owner allows
    it."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    folder: FileId = ROOT_FOLDER
    name: Annotated[str, Meta(min_length=1, max_length=MAX_FILE_NAME)] | None = None
    file: FileId | None = None
    secrets: Literal["refuse", "allow"] = "refuse"


_FAILURES = (400, 403, 404, 409, 413, 502, 503)


class Drives(Area):
    """The caller's Google Drive."""

    tag = "drive"
    needs = "me.manage"

    @operation("GET /v1/drive", name="get_drive", problems=(403,))
    def get(self) -> DriveView:
        """Return whether the caller's Google Drive is connected."""

    @operation("POST /v1/drive/connect", name="begin_drive", problems=(403, 404))
    def begin(self) -> ConsentView:
        """Return the address for the caller's consent, which this browser opens within 10
        minutes."""

    @operation("POST /v1/drive/connection", name="finish_drive", problems=(401, 403, 404, 413, 503))
    def finish(self, body: ConsentBody) -> DriveView:
        """Connect the caller's Google Drive by what Google sent back. Only the browser that began
        it can, and once."""

    @operation("DELETE /v1/drive/connection", name="disconnect_drive", problems=(403, 404))
    def disconnect(self) -> DisconnectedView:
        """Have Google end the consent, and delete its token here."""

    @operation(
        "GET /v1/drive/files",
        name="list_drive_files",
        needs="file.read",
        problems=(403, 404, 409, 503),
    )
    def files(
        self, *, folder: Folder = ROOT_FOLDER, name: FileName = "", page: Paging = FIRST_PAGE
    ) -> DriveFileList:
        """Return a page of a folder, or of what a search finds; at most 100 files."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/drive/import",
        name="import_drive_file",
        needs="file.write",
        status=201,
        problems=_FAILURES,
    )
    def bring(self, sandbox: SandboxRef, body: DriveImportBody) -> FileEntry:
        """Bring a file of the caller's drive into the workspace, whole or not at all."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/drive/export",
        name="export_drive_file",
        needs="file.read",
        status=201,
        problems=_FAILURES,
    )
    def send(self, sandbox: SandboxRef, body: DriveExportBody) -> DriveFileView:
        """Store a file of the workspace in the caller's drive, whole or not at all."""

    @operation(
        "GET /auth/drive/callback",
        name="return_from_drive",
        public=True,
        status=302,
        about="To the page, which hands in what Google said.",
        failures=Failures(),
    )
    def come_back(self, *, state: Brought = "", code: Brought = "") -> None:
        """Lead the browser to the page, which hands in what Google said. Nothing is done here."""
