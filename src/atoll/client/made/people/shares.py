"""Share links of a sandbox: make, list and revoke one.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Transport, api_path, get, post

Role = Literal["viewer", "controller", "owner"]


class Share(Shape):
    """A link. `guests` is how many came by it and may still be present, `guest_names` who they
    are."""

    share_id = fields.text()
    sandbox_id = fields.text()
    terminal_id = fields.text()
    recording_id = fields.text()
    role: Field[Role] = fields.word()
    name = fields.text()
    created_at = fields.text()
    expires_at = fields.text()
    guests = fields.number()
    guest_names = fields.texts()


class MadeShare(Share):
    """A link just made: `link` is returned only once, and stored nowhere. `local_only`: no other
    machine can open it."""

    link = fields.text()
    local_only = fields.flag()


class ShareList(Shape):
    """The valid links of a sandbox."""

    shares = fields.many(Share)


class ShareBody(TypedDict, total=False):
    """A link to make. Without `terminal_id` it opens every terminal of the sandbox; with
    `recording_id` one recording and no terminal."""

    terminal_id: str | None
    role: Role
    ttl: int | str
    name: str | None
    recording_id: str | None


class Shares:
    """The share links of a sandbox. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, sandbox: str, body: ShareBody) -> MadeShare:
        """Make a link for watching (`viewer`) or for typing, too (`controller`)."""
        return self._transport.read(MadeShare, post("sandboxes", sandbox, "shares", value=body))

    def list(self, sandbox: str) -> ShareList:
        """Return the sandbox's valid links, without their secrets."""
        return self._transport.read(ShareList, get("sandboxes", sandbox, "shares"))

    def revoke(self, sandbox: str, share_id: str) -> None:
        """Revoke a link; connections of its guests are closed within 5 seconds."""
        self._transport.call(Call("DELETE", api_path("sandboxes", sandbox, "shares", share_id)))
