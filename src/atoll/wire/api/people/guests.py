"""Guests: people who come in by a share link.

The link's secret stands in the fragment of the link, which browsers never send, log or pass on. The
page takes it from there and sends it in a body, once.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.operation import Answer, Area, SealedRequest, operation
from atoll.wire.api.people.me import EnteredView
from atoll.wire.words.people import MAX_NAME
from atoll.wire.words.terminals import Role


class InvitationBody(SealedRequest):
    """The secret of a link."""

    ticket: Annotated[str, Meta(min_length=1, max_length=200)]


class InvitationView(Answer):
    """Offer of a link: by whom, to which sandbox, to one terminal of it or to all, and to watch
    (`viewer`) or to ask to type, too (`controller`); or to one recording; or to look at the
    dashboard `dashboard_name`. `inviter` is empty for who chose no name."""

    inviter: str
    sandbox_name: str | None
    dashboard_name: str | None
    terminal_id: str | None
    recording_id: str | None
    role: Role
    expires_at: str


class GuestBody(SealedRequest):
    """The secret of a link, and the name that its visitor chose."""

    ticket: Annotated[str, Meta(min_length=1, max_length=200)]
    name: Annotated[str, Meta(max_length=MAX_NAME)] | None = None


class Guests(Area):
    """The entrance of guests, who come by a share link."""

    tag = "auth"
    needs = "me.manage"

    @operation("POST /auth/invitations", name="read_invitation", public=True, problems=(409, 413))
    def read(self, body: InvitationBody) -> InvitationView:
        """Return what a link offers, without opening it."""

    @operation("POST /auth/guests", name="come_in", status=201, public=True, problems=(409, 413))
    def enter(self, body: GuestBody) -> EnteredView:
        """Trade the secret of a share link for the cookie `atoll_guest`; answers like
        `/auth/login`. A page that came by it before stays the same guest."""
