"""The CloudDrive port: files that people keep at a drive such as Google's.

Everything is done in the name of a person who consented. A drive opens no connection to a sandbox:
bytes pass through the control plane, and no token does anything but reach the drive's own hosts.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.drive.drive import (
    BegunConnection,
    DriveAccess,
    DriveFile,
    DriveGrant,
    DrivePage,
    DriveQuery,
    DriveUpload,
)


@dataclass(frozen=True, slots=True)
class DriveDownload:
    """A file and its bytes, while they arrive."""

    file: DriveFile
    body: AsyncIterator[bytes]


class CloudDrive(Protocol):
    """A drive. Raises `Forbidden` when it refuses the token or the act (code `drive_refused`) or
    the consent has ended (`drive_ended`), `NotFound` when it does not show the file, `Conflict`
    (code `drive_not_taken`) when it does not take what was sent, and `Unavailable` when it does not
    answer in time, has had too many requests, or answers nonsense. No message holds a token."""

    def consent_url(self, begun: BegunConnection) -> str:
        """Return the address at which a person's browser gives consent: the code flow with PKCE
        (S256) and the state of `begun`."""
        ...

    async def connect(self, begun: BegunConnection, code: str) -> DriveGrant:
        """Trade the code of a consent, once. Raises `Forbidden` (code `drive_ended`) for a code
        that is used, wrong or of another verifier, and for a consent to less than was asked for."""
        ...

    async def access(self, refresh_token: str) -> DriveAccess:
        """Return a token for some minutes."""
        ...

    async def revoke(self, refresh_token: str) -> None:
        """End the consent. One that has ended already is no error."""
        ...

    async def page(self, access: DriveAccess, query: DriveQuery) -> DrivePage:
        """Return a page of files; nothing that is in the bin."""
        ...

    def open(
        self, access: DriveAccess, file_id: str, form: str | None
    ) -> AbstractAsyncContextManager[DriveDownload]:
        """Yield a file and its bytes, with backpressure. A document of the drive's own editors is
        exported in `form`, None being its usual one. Raises `Invalid` for a form it does not
        have, and for a folder. Iterating raises, too, when the bytes end too early."""
        ...

    async def store(
        self, access: DriveAccess, upload: DriveUpload, content: AsyncIterator[bytes]
    ) -> DriveFile:
        """Store a file whole or not at all, and return it; one of the same name stays beside it.
        What `content` raises goes through."""
        ...
