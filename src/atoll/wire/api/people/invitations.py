"""Invitations to an organization. The secret of one is returned once, and stored nowhere.

Whoever accepts one has logged in: a login says who it is, the invitation what they become.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging, Seconds
from atoll.wire.api.operation import Answer, Area, Request, SealedRequest, operation
from atoll.wire.api.people.organizations import Groups, OrganizationView
from atoll.wire.words.people import DEFAULT_INVITATION_SECONDS, OrgRole


class InviteBody(Request):
    """An invitation to make. `email` is a note of whom it is for; nothing is sent there."""

    role: OrgRole = OrgRole.MEMBER
    groups: Groups = []
    email: Annotated[str, Meta(max_length=254)] = ""
    ttl: Seconds = Seconds(DEFAULT_INVITATION_SECONDS)


class AcceptBody(SealedRequest):
    """The secret of an invitation."""

    secret: Annotated[str, Meta(min_length=1, max_length=200)]


class OrgInvitationView(Answer):
    """An invitation to an organization, without its secret."""

    invitation_id: str
    role: OrgRole
    groups: list[str]
    email: str
    invited_by: str
    created_at: str
    expires_at: str


class MadeOrgInvitationView(OrgInvitationView):
    """An invitation just made: `secret`, and the link `url` with it, are returned only once.
    `local_only` when no other machine can open the link."""

    secret: str
    url: str
    local_only: bool


class OfferView(Answer):
    """The terms of an invitation. `organization` and `invited_by` are names to read; who
    invited and has left has none."""

    organization: str
    role: OrgRole
    invited_by: str
    expires_at: str


class OrgInvitationList(Answer):
    """The invitations that can still be accepted."""

    invitations: list[OrgInvitationView]
    next: str | None


_FAILURES = (404, 409, 413)


class OrgInvitations(Area):
    """Invitations to an organization."""

    tag = "organizations"
    needs = "org.manage"

    @operation(
        "GET /v1/organizations/{organization}/invitations",
        name="list_invitations",
        problems=(404,),
    )
    def list(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> OrgInvitationList:
        """Return the invitations that can still be accepted."""

    @operation(
        "POST /v1/organizations/{organization}/invitations",
        name="invite",
        status=201,
        problems=_FAILURES,
    )
    def invite(self, organization: ItemId, body: InviteBody) -> MadeOrgInvitationView:
        """Invite somebody. Only owners invite owners."""

    @operation(
        "DELETE /v1/organizations/{organization}/invitations/{invitation}",
        name="revoke_invitation",
        status=204,
        problems=_FAILURES,
    )
    def revoke(self, organization: ItemId, invitation: ItemId) -> None:
        """Take an invitation back."""

    @operation(
        "POST /v1/invitations/look",
        name="look_at_invitation",
        needs="me.manage",
        problems=(404, 413),
    )
    def look(self, body: AcceptBody) -> OfferView:
        """Return what an invitation offers, without accepting it."""

    @operation(
        "POST /v1/invitations/accept",
        name="accept_invitation",
        needs="me.manage",
        problems=_FAILURES,
    )
    def accept(self, body: AcceptBody) -> OrganizationView:
        """Become a member by an invitation, which is used up by that."""
