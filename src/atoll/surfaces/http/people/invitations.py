"""Routes of invitations to an organization."""

from atoll.domain.people.organization import Invitation
from atoll.services.people.invitations import InvitationRequest
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.people.organizations import organization_view
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.people import invitations as api
from atoll.wire.api.people.invitations import OrgInvitations
from atoll.wire.api.people.organizations import OrganizationView

operations = Operations()


@operations.serves(OrgInvitations.list)
async def list_invitations(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.OrgInvitationList:
    found = await context.atoll.tenancy.invitations.list(context.caller, organization)
    invitations, following = context.page(page).items_and_next(
        found, key=lambda one: one.id, view=_view
    )
    return api.OrgInvitationList(invitations=invitations, next=following)


@operations.serves(OrgInvitations.invite)
async def invite(
    context: RequestContext, organization: str, body: api.InviteBody
) -> api.MadeOrgInvitationView:
    wanted = InvitationRequest(body.role, tuple(body.groups), body.email, int(body.ttl))
    made, secret = await context.atoll.tenancy.invitations.create(
        context.caller, organization, wanted
    )
    link = outside_link(context.request, f"join={secret}")
    return answer_of(
        api.MadeOrgInvitationView,
        made,
        invitation_id=made.id,
        secret=secret,
        url=link.url,
        local_only=link.local_only,
    )


@operations.serves(OrgInvitations.revoke)
async def revoke_invitation(context: RequestContext, organization: str, invitation: str) -> None:
    await context.atoll.tenancy.invitations.revoke(context.caller, organization, invitation)


@operations.serves(OrgInvitations.look)
async def look_at_invitation(context: RequestContext, body: api.AcceptBody) -> api.OfferView:
    offer = await context.atoll.tenancy.invitations.look(context.caller, body.secret)
    return answer_of(api.OfferView, offer)


@operations.serves(OrgInvitations.accept)
async def accept_invitation(context: RequestContext, body: api.AcceptBody) -> OrganizationView:
    joined = await context.atoll.tenancy.invitations.accept(context.caller, body.secret)
    return organization_view(joined)


def _view(invitation: Invitation) -> api.OrgInvitationView:
    return answer_of(api.OrgInvitationView, invitation, invitation_id=invitation.id)
