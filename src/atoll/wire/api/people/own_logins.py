"""The login at a provider of the person who runs the installation, and links by which it is theirs.

The secret of a link is returned once, and stored nowhere.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.operation import Answer, Area, SealedRequest, operation
from atoll.wire.api.people.me import MeView


class OwnLinkBody(SealedRequest):
    """The secret of a link."""

    secret: Annotated[str, Meta(min_length=1, max_length=200)]


class OwnLoginView(Answer):
    """The caller's login at a provider, if there is one, and the name and email that its provider
    has for them."""

    linked: bool
    name: str
    email: str


class OwnLinkView(Answer):
    """A new link, valid once within `expires_in` seconds. `secret`, and the link `url` with it, are
    returned only once. `local_only` when no other machine can open the link."""

    secret: str
    url: str
    local_only: bool
    expires_in: int


class OwnLinkOffer(Answer):
    """The person that the caller becomes by a link, and the login by which they do: its name and
    email."""

    person: str
    name: str
    email: str


_FAILURES = (404, 409, 413)


class OwnLogins(Area):
    """The login at a provider of the person who runs the installation."""

    tag = "auth"
    needs = "me.manage"

    @operation("GET /v1/me/login", name="read_own_login", needs="system.manage")
    def get(self) -> OwnLoginView:
        """Return the caller's login at a provider. Only the person who runs the installation has
        one."""

    @operation(
        "POST /v1/me/login",
        name="make_own_link",
        status=201,
        needs="system.manage",
        problems=(404, 409),
    )
    def make(self) -> OwnLinkView:
        """Make a link, for the caller to open where they have logged in at a provider."""

    @operation(
        "DELETE /v1/me/login",
        name="end_own_login",
        status=204,
        needs="system.manage",
        problems=(404,),
    )
    def end(self) -> None:
        """End the caller's login at a provider: its sessions end, and who logs in there is somebody
        else from now on."""

    @operation("POST /v1/me/login/look", name="look_at_own_link", problems=_FAILURES)
    def look(self, body: OwnLinkBody) -> OwnLinkOffer:
        """Return whom a link makes of the caller, without accepting it."""

    @operation("POST /v1/me/login/accept", name="accept_own_link", problems=_FAILURES)
    def accept(self, body: OwnLinkBody) -> MeView:
        """Have this login at a provider be the person who runs the installation. The link is used
        up by that."""
