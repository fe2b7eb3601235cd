"""Share links of a sandbox: make, list and revoke one."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId, SandboxRef, Seconds
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.people import DEFAULT_SHARE_SECONDS, MAX_NAME, MAX_SHARES
from atoll.wire.words.terminals import Role

PlainId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]


class ShareBody(Request):
    """A link to make. Without `terminal_id` it opens every terminal of the sandbox; with
    `recording_id` one recording and no terminal."""

    terminal_id: PlainId | None = None
    role: Role = Role.VIEWER
    ttl: Seconds = Seconds(DEFAULT_SHARE_SECONDS)
    name: Annotated[str, Meta(max_length=MAX_NAME)] | None = None
    recording_id: PlainId | None = None


class ShareView(Answer):
    """A link. `guests` is how many came by it and may still be present, `guest_names` who they
    are."""

    share_id: str
    sandbox_id: str
    terminal_id: str | None
    recording_id: str | None
    role: Role
    name: str
    created_at: str
    expires_at: str
    guests: int
    guest_names: list[str]


class MadeView(ShareView):
    """A link just made: `link` is returned only once, and stored nowhere. `local_only`: no other
    machine can open it."""

    link: str
    local_only: bool


class ShareList(Answer):
    """The valid links of a sandbox."""

    shares: list[ShareView]


_FAILURES = (404, 409, 413, 502)


class Shares(Area):
    """The share links of a sandbox."""

    tag = "shares"
    needs = "share.manage"

    @operation(
        "POST /v1/sandboxes/{sandbox}/shares", name="make_share", status=201, problems=_FAILURES
    )
    def create(self, sandbox: SandboxRef, body: ShareBody) -> MadeView:
        """Make a link for watching (`viewer`) or for typing, too (`controller`)."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/shares",
        name="list_shares",
        problems=_FAILURES,
        max_items=MAX_SHARES,
    )
    def list(self, sandbox: SandboxRef) -> ShareList:
        """Return the sandbox's valid links, without their secrets."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/shares/{share}",
        name="revoke_share",
        status=204,
        problems=_FAILURES,
    )
    def revoke(self, sandbox: SandboxRef, share: ItemId) -> None:
        """Revoke a link; connections of its guests are closed within 5 seconds."""
