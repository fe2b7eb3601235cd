"""Parts that no declaration says: what is read of several fields, open documents, and which
organization is the caller's own."""

from binascii import a2b_base64

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.transport import Transport, get

OTHER_BACKEND = "extension"
"""The `backend` of a worker on a backend of somebody else's, whose id is its `extension`."""


class ExecOutput(Shape):
    """The output of a command."""

    stdout = fields.text()
    stderr = fields.text()

    @property
    def out(self) -> bytes:
        """Standard output, as the program wrote it."""
        return a2b_base64(self.stdout)

    @property
    def err(self) -> bytes:
        """Standard error, as the program wrote it."""
        return a2b_base64(self.stderr)


class NamedBackend(Shape):
    """The backend of a worker."""

    backend = fields.text()
    extension = fields.text()

    @property
    def backend_name(self) -> str:
        """Return its backend as people call it: one of somebody else's by its id."""
        return self.extension if self.backend == OTHER_BACKEND else self.backend


class ProfileMetadata(Shape):
    """Labels of a profile; its document leaves them open."""

    description = fields.text()


class ProfileDocument(Shape):
    """The document of a profile, as far as it is read."""

    extension = fields.text()
    agent = fields.text()
    description = fields.text()
    metadata = fields.one(ProfileMetadata)


class _Caller(Shape):
    """The caller, as far as it says where they belong."""

    org_id = fields.text()


def organization_of(transport: Transport, ref: str | None) -> str:
    """Return the id or slug that names an organization; None names the caller's own."""
    return ref if ref is not None else transport.read(_Caller, get("me")).org_id
