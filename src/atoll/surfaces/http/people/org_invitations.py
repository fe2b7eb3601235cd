"""Routes of invitations to an organization. The secret of one is returned once, and stored nowhere.

Whoever accepts one has logged in: a login says who it is, the invitation what they become.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability, OrgRole
from atoll.domain.people.organization import DEFAULT_INVITATION_SECONDS, Invitation
from atoll.services.people.invitations import InvitationRequest
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, Seconds
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.people.organizations import Groups, OrganizationView, organization_view
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(
    prefix="/v1/organizations/{organization}/invitations",
    tags=["organizations"],
    route_class=JsonRoute,
)
entrance = APIRouter(prefix="/v1/invitations", tags=["organizations"], route_class=JsonRoute)

_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413)


class InviteBody(Body):
    """An invitation to make. `email` is a note of whom it is for; nothing is sent there."""

    role: OrgRole = OrgRole.MEMBER
    groups: Groups = Field(default=[])
    email: Annotated[str, Field(max_length=254, strict=True)] = ""
    ttl: Seconds = DEFAULT_INVITATION_SECONDS


class AcceptBody(Body):
    """The secret of an invitation."""

    secret: Annotated[str, Field(min_length=1, max_length=200, strict=True)]


class OrgInvitationView(ResponseModel):
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


class OfferView(ResponseModel):
    """The terms of an invitation. `organization` and `invited_by` are names to read; who
    invited and has left has none."""

    organization: str
    role: OrgRole
    invited_by: str
    expires_at: str


class OrgInvitationList(PageModel):
    """The invitations that can still be accepted."""

    invitations: list[OrgInvitationView]


@router.get("", response_model=OrgInvitationList, responses=problems(404))
@needs(Capability.ORG_MANAGE)
async def list_invitations(
    atoll: Atoll, caller: Caller, *, organization: ItemId, page: Paged
) -> Response:
    """Return the invitations that can still be accepted."""
    found = await atoll.tenancy.invitations.list(caller, organization)
    return Json(page.of(found, name="invitations", key=lambda one: one.id, view=_view))


@router.post("", status_code=201, response_model=MadeOrgInvitationView, responses=_FAILURES)
@needs(Capability.ORG_MANAGE)
async def invite(
    atoll: Atoll, caller: Caller, request: Request, *, organization: ItemId, body: InviteBody
) -> Response:
    """Invite somebody. Only owners invite owners."""
    wanted = InvitationRequest(body.role, tuple(body.groups), body.email, int(body.ttl))
    made, secret = await atoll.tenancy.invitations.create(caller, organization, wanted)
    link = outside_link(request, f"join={secret}")
    told = {"secret": secret, "url": link.url, "local_only": link.local_only}
    return Json({**_view(made), **told}, 201)


@router.delete("/{invitation}", status_code=204, responses=_FAILURES)
@needs(Capability.ORG_MANAGE)
async def revoke_invitation(
    atoll: Atoll, caller: Caller, *, organization: ItemId, invitation: ItemId
) -> Response:
    """Take an invitation back."""
    await atoll.tenancy.invitations.revoke(caller, organization, invitation)
    return no_content()


@entrance.post("/look", response_model=OfferView, responses=problems(404, 413))
@needs(Capability.ME)
async def look_at_invitation(atoll: Atoll, caller: Caller, *, body: AcceptBody) -> Response:
    """Return what an invitation offers, without accepting it."""
    return Json(OfferView.of(await atoll.tenancy.invitations.look(caller, body.secret)))


@entrance.post("/accept", response_model=OrganizationView, responses=_FAILURES)
@needs(Capability.ME)
async def accept_invitation(atoll: Atoll, caller: Caller, *, body: AcceptBody) -> Response:
    """Become a member by an invitation, which is used up by that."""
    return Json(organization_view(await atoll.tenancy.invitations.accept(caller, body.secret)))


def _view(invitation: Invitation) -> dict[str, Any]:
    return OrgInvitationView.of(
        invitation, invitation_id=invitation.id, groups=list(invitation.groups)
    )
