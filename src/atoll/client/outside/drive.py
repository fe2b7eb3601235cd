"""A person's Google Drive over the API: its connection, its files, and their way to a workspace."""

from atoll.client.made.library.drive import (
    Disconnected,
    Drive,
    DriveExportBody,
    DriveFile,
    DriveFileList,
    DriveImportBody,
)
from atoll.client.terminal_shapes import Entry
from atoll.client.transport import Call, Pairs, Transport, at, get, post

TRANSFER_SECONDS = 3600.0
"""The longest silence while a file is on its way."""


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

    def bring(self, name: str, body: DriveImportBody) -> Entry:
        """Import a file into a sandbox's workspace."""
        call = post("sandboxes", name, "drive", "import", value=body)
        return self._transport.read(Entry, call._replace(timeout=TRANSFER_SECONDS))

    def send(self, name: str, body: DriveExportBody) -> DriveFile:
        """Export a file of a sandbox's workspace."""
        call = post("sandboxes", name, "drive", "export", value=body)
        return self._transport.read(DriveFile, call._replace(timeout=TRANSFER_SECONDS))
