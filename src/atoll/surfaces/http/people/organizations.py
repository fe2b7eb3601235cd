"""Routes of organizations, their members and service accounts.

An organization is named by its id or its slug. One that is not the caller's answers like one that
does not exist.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability, OrgRole
from atoll.domain.people.organization import MAX_GROUPS, Member
from atoll.services.people.organizations import MemberChange, Membership
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_NAME

router = APIRouter(prefix="/v1/organizations", tags=["organizations"], route_class=JsonRoute)

Slug = Annotated[str, Field(min_length=2, max_length=40, strict=True)]
PersonName = Annotated[str, Field(min_length=1, max_length=MAX_NAME, strict=True)]
Groups = Annotated[
    list[Annotated[str, Field(max_length=128, strict=True)]], Field(max_length=MAX_GROUPS)
]


class OrganizationBody(Body):
    """An organization to make; `name` is the slug where it is left out."""

    slug: Slug
    name: PersonName | None = None


class OrganizationChangeBody(Body):
    """A change of an organization's names; what is left out stays."""

    slug: Slug | None = None
    name: PersonName | None = None


class MemberBody(Body):
    """A change of a member; what is left out stays."""

    role: OrgRole | None = None
    groups: Groups | None = None


class ServiceAccountBody(Body):
    """A service account to make: a member that acts as automation (`atm`)."""

    name: PersonName
    role: OrgRole = OrgRole.MEMBER
    groups: Groups = Field(default=[])


class OrganizationView(ResponseModel):
    """An organization and the caller's role in it. `created_at` is null for the one of
    single-person mode, which has no other members."""

    organization_id: str
    slug: str
    name: str
    created_at: str | None
    role: OrgRole


class OrganizationList(PageModel):
    """The caller's organizations."""

    organizations: list[OrganizationView]


class MemberView(ResponseModel):
    """A member: a person (`adm`) or a service account (`atm`). With `groups_claimed` the groups
    come from the login provider, and cannot be changed here."""

    member_id: str
    kind: ActorKind
    name: str
    email: str
    role: OrgRole
    groups: list[str]
    groups_claimed: bool
    since: str


class MemberList(PageModel):
    """The members of an organization."""

    members: list[MemberView]


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413)


@router.get("", response_model=OrganizationList, responses=problems(404))
@needs(Capability.ORG_READ)
async def list_organizations(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the caller's organization; all of them to who runs the installation."""
    found = await atoll.tenancy.organizations.list(caller)
    return Json(page.of(found, name="organizations", key=_key, view=organization_view))


@router.post("", status_code=201, response_model=OrganizationView, responses=problems(409, 413))
@needs(Capability.SYSTEM_MANAGE)
async def create_organization(atoll: Atoll, caller: Caller, *, body: OrganizationBody) -> Response:
    """Make an organization. The first one takes the place of `personal` under the same id: all that
    is there belongs to it from then on."""
    made = await atoll.tenancy.organizations.create(caller, body.slug, body.name or body.slug)
    return Json(organization_view(made), 201)


@router.get("/{organization}", response_model=OrganizationView, responses=problems(404))
@needs(Capability.ORG_READ)
async def get_organization(atoll: Atoll, caller: Caller, *, organization: ItemId) -> Response:
    """Return one organization."""
    return Json(organization_view(await atoll.tenancy.organizations.get(caller, organization)))


@router.patch("/{organization}", response_model=OrganizationView, responses=_FAILURES)
@needs(Capability.ORG_MANAGE)
async def change_organization(
    atoll: Atoll, caller: Caller, *, organization: ItemId, body: OrganizationChangeBody
) -> Response:
    """Rename an organization. Its id stays."""
    changed = await atoll.tenancy.organizations.change(
        caller, organization, slug=body.slug, name=body.name
    )
    return Json(organization_view(changed))


@router.get("/{organization}/members", response_model=MemberList, responses=problems(404))
@needs(Capability.ORG_READ)
async def list_members(
    atoll: Atoll, caller: Caller, *, organization: ItemId, page: Paged
) -> Response:
    """Return the members, service accounts among them."""
    found = await atoll.tenancy.organizations.members(caller, organization)
    return Json(page.of(found, name="members", key=lambda one: one.id, view=member_view))


@router.patch("/{organization}/members/{member}", response_model=MemberView, responses=_FAILURES)
@needs(Capability.ORG_MANAGE)
async def change_member(
    atoll: Atoll, caller: Caller, *, organization: ItemId, member: ItemId, body: MemberBody
) -> Response:
    """Give a member another role or other groups. Only owners make owners, or change them. What the
    member has open is closed within 5 seconds when its role allows less."""
    groups = None if body.groups is None else tuple(body.groups)
    changed = await atoll.tenancy.organizations.change_member(
        caller, organization, member, MemberChange(body.role, groups)
    )
    return Json(member_view(changed))


@router.delete("/{organization}/members/{member}", status_code=204, responses=_FAILURES)
@needs(Capability.ORG_MANAGE)
async def remove_member(
    atoll: Atoll, caller: Caller, *, organization: ItemId, member: ItemId
) -> Response:
    """Remove a member: its connections close within 5 seconds, its secrets, links and approvals
    end, and its sandboxes are stopped and wait for another owner."""
    await atoll.tenancy.organizations.remove_member(caller, organization, member)
    return no_content()


@router.post("/{organization}/leave", status_code=204, responses=_FAILURES)
@needs(Capability.ME)
async def leave_organization(atoll: Atoll, caller: Caller, *, organization: ItemId) -> Response:
    """Leave an organization, like a member who is removed. The last owner cannot."""
    await atoll.tenancy.organizations.leave(caller, organization)
    return no_content()


@router.get("/{organization}/service-accounts", response_model=MemberList, responses=problems(404))
@needs(Capability.ORG_READ)
async def list_service_accounts(
    atoll: Atoll, caller: Caller, *, organization: ItemId, page: Paged
) -> Response:
    """Return the members that are service accounts."""
    found = await atoll.tenancy.organizations.members(caller, organization)
    accounts = [one for one in found if one.kind is ActorKind.AUTOMATION]
    return Json(page.of(accounts, name="members", key=lambda one: one.id, view=member_view))


@router.post(
    "/{organization}/service-accounts",
    status_code=201,
    response_model=MemberView,
    responses=_FAILURES,
)
@needs(Capability.ORG_MANAGE)
async def add_service_account(
    atoll: Atoll, caller: Caller, *, organization: ItemId, body: ServiceAccountBody
) -> Response:
    """Make a service account. It cannot be an owner."""
    made = await atoll.tenancy.organizations.add_service_account(
        caller, organization, body.name, role=body.role, groups=body.groups
    )
    return Json(member_view(made), 201)


@router.delete("/{organization}/service-accounts/{account}", status_code=204, responses=_FAILURES)
@needs(Capability.ORG_MANAGE)
async def remove_service_account(
    atoll: Atoll, caller: Caller, *, organization: ItemId, account: ItemId
) -> Response:
    """Delete a service account, like a member who is removed."""
    await atoll.tenancy.organizations.remove_service_account(caller, organization, account)
    return no_content()


def _key(membership: Membership) -> str:
    return membership.organization.id


def organization_view(membership: Membership) -> dict[str, Any]:
    """Return the fields of an `OrganizationView`."""
    found = membership.organization
    return OrganizationView.of(found, organization_id=found.id, role=membership.role)


def member_view(member: Member) -> dict[str, Any]:
    """Return the fields of a `MemberView`."""
    return MemberView.of(member, member_id=member.id, groups=list(member.groups))
