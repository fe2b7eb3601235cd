"""A person's Google Drive over the API: its connection, its files, and their way to a workspace."""

from typing import TYPE_CHECKING

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.terminal_shapes import Entry
from atoll.client.transport import Call, Pairs, Transport, at, get, post

if TYPE_CHECKING:  # dictionaries that take longer to load than a command may
    from atoll.client.bodies import DriveExportBody, DriveImportBody

TRANSFER_SECONDS = 3600.0
"""The longest silence while a file is on its way."""


class Drive(Shape):
    """The caller's drive; `account` is empty while nothing is connected."""

    available = fields.flag()
    account = fields.text()
    connected_at = fields.text()


class Disconnected(Shape):
    """The end of a connection."""

    revoked = fields.flag()


class DriveFile(Shape):
    """A file or folder, named by others."""

    id = fields.text()
    name = fields.text()
    folder = fields.flag()
    media_type = fields.text()
    size = fields.number(-1)
    modified_at = fields.text()
    forms = fields.texts()
    importable = fields.flag()


class DriveFileList(Shape):
    """A page of files, folders first."""

    files = fields.many(DriveFile)
    next = fields.text()


class Drives:
    """The caller's drive. Methods raise the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> Drive:
        """Return whether it is connected."""
        return self._transport.read(Drive, get("drive"))

    def disconnect(self) -> Disconnected:
        """End the consent, and delete its token."""
        return self._transport.read(Disconnected, Call("DELETE", at("drive", "connection")))

    def files(self, query: Pairs) -> DriveFileList:
        """Return a page of a folder, or of what a search finds."""
        return self._transport.read(DriveFileList, get("drive", "files", query=query))

    def bring(self, name: str, body: "DriveImportBody") -> Entry:
        """Import a file into a sandbox's workspace."""
        call = post("sandboxes", name, "drive", "import", value=body)
        return self._transport.read(Entry, call._replace(timeout=TRANSFER_SECONDS))

    def send(self, name: str, body: "DriveExportBody") -> DriveFile:
        """Export a file of a sandbox's workspace."""
        call = post("sandboxes", name, "drive", "export", value=body)
        return self._transport.read(DriveFile, call._replace(timeout=TRANSFER_SECONDS))
