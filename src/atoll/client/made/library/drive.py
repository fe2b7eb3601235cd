"""A person's Google Drive: its connection, its files, and their way to a workspace and back.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.made.files import Entry
from atoll.client.transport import Call, Pairs, Transport, api_path, get, post


class Drive(Shape):
    """The caller's drive. `available` is false where no administrator has set Google Drive up;
    `account` and `connected_at` are null while nothing is connected."""

    available = fields.flag()
    account = fields.text()
    connected_at = fields.text()


class Consent(Shape):
    """The address at Google where the person consents."""

    url = fields.text()


class Disconnected(Shape):
    """The end of a connection. `revoked` is false when Google could not be reached: the person
    ends the consent in their Google account."""

    revoked = fields.flag()


class DriveFile(Shape):
    """A file or folder, named by others. `forms` are those in which a document of Google's own
    is exported, the usual one first. `size` is in bytes, null where it is not known."""

    id = fields.text()
    name = fields.text()
    folder = fields.flag()
    media_type = fields.text()
    size = fields.number(-1)
    modified_at = fields.text()
    forms = fields.texts()
    importable = fields.flag()


class DriveFileList(Shape):
    """Files, folders first."""

    files = fields.many(DriveFile)
    next = fields.text()


class ConsentBody(TypedDict, total=False):
    """The answer that Google sent by the browser; without consent `code` is empty."""

    state: Required[str]
    code: str


class DriveImportBody(TypedDict, total=False):
    """A file of the caller's drive, by its id. `path` is its place in the workspace; with a `/`
    at its end, or left out, it is the directory, and the file keeps its name. `form` is the
    ending of the form in which a document is exported, such as `md` or `pdf`."""

    file: Required[str]
    path: str
    form: str | None
    replace: bool


class DriveExportBody(TypedDict, total=False):
    """A file of the workspace. It becomes a new file in `folder`, or with `file` a new version
    of that one. `secrets`: whether bytes with a secret of the owner may go; only the owner
    allows it."""

    path: Required[str]
    folder: str
    name: str | None
    file: str | None
    secrets: Literal["refuse", "allow"]


class Drives:
    """The caller's Google Drive. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> Drive:
        """Return whether the caller's Google Drive is connected."""
        return self._transport.read(Drive, get("drive"))

    def disconnect(self) -> Disconnected:
        """Have Google end the consent, and delete its token here."""
        return self._transport.read(Disconnected, Call("DELETE", api_path("drive", "connection")))

    def files(self, query: Pairs = ()) -> DriveFileList:
        """Return a page of a folder, or of what a search finds; at most 100 files."""
        return self._transport.read(DriveFileList, get("drive", "files", query=query))

    def bring(self, name: str, body: DriveImportBody) -> Entry:
        """Bring a file of the caller's drive into the workspace, whole or not at all."""
        return self._transport.read(
            Entry, post("sandboxes", name, "drive", "import", value=body)._replace(timeout=3600.0)
        )

    def send(self, name: str, body: DriveExportBody) -> DriveFile:
        """Store a file of the workspace in the caller's drive, whole or not at all."""
        return self._transport.read(
            DriveFile,
            post("sandboxes", name, "drive", "export", value=body)._replace(timeout=3600.0),
        )
