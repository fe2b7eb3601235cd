"""Routes of organizations, their members and service accounts."""

from atoll.domain.people.organization import Member
from atoll.services.people.organizations import MemberChange, Membership
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.people import organizations as api
from atoll.wire.api.people.organizations import Members, Organizations, ServiceAccounts
from atoll.wire.words.events import ActorKind

operations = Operations()


@operations.serves(Organizations.list)
async def list_organizations(
    context: RequestContext, *, page: Paging = FIRST_PAGE
) -> api.OrganizationList:
    found = await context.atoll.tenancy.organizations.list(context.caller)
    organizations, following = context.page(page).items_and_next(
        found, key=lambda one: one.organization.id, view=organization_view
    )
    return api.OrganizationList(organizations=organizations, next=following)


@operations.serves(Organizations.create)
async def create_organization(
    context: RequestContext, body: api.OrganizationBody
) -> api.OrganizationView:
    made = await context.atoll.tenancy.organizations.create(
        context.caller, body.slug, body.name or body.slug
    )
    return organization_view(made)


@operations.serves(Organizations.get)
async def get_organization(context: RequestContext, organization: str) -> api.OrganizationView:
    found = await context.atoll.tenancy.organizations.get(context.caller, organization)
    return organization_view(found)


@operations.serves(Organizations.rename)
async def change_organization(
    context: RequestContext, organization: str, body: api.OrganizationChangeBody
) -> api.OrganizationView:
    changed = await context.atoll.tenancy.organizations.change(
        context.caller, organization, slug=body.slug, name=body.name
    )
    return organization_view(changed)


@operations.serves(Organizations.leave)
async def leave_organization(context: RequestContext, organization: str) -> None:
    await context.atoll.tenancy.organizations.leave(context.caller, organization)


@operations.serves(Members.list)
async def list_members(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.MemberList:
    found = await context.atoll.tenancy.organizations.members(context.caller, organization)
    members, following = context.page(page).items_and_next(found, key=_id, view=_member)
    return api.MemberList(members=members, next=following)


@operations.serves(Members.change)
async def change_member(
    context: RequestContext, organization: str, member: str, body: api.MemberBody
) -> api.MemberView:
    groups = None if body.groups is None else tuple(body.groups)
    changed = await context.atoll.tenancy.organizations.change_member(
        context.caller, organization, member, MemberChange(body.role, groups)
    )
    return _member(changed)


@operations.serves(Members.remove)
async def remove_member(context: RequestContext, organization: str, member: str) -> None:
    await context.atoll.tenancy.organizations.remove_member(context.caller, organization, member)


@operations.serves(ServiceAccounts.list)
async def list_service_accounts(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.MemberList:
    found = await context.atoll.tenancy.organizations.members(context.caller, organization)
    accounts = [one for one in found if one.kind is ActorKind.AUTOMATION]
    members, following = context.page(page).items_and_next(accounts, key=_id, view=_member)
    return api.MemberList(members=members, next=following)


@operations.serves(ServiceAccounts.add)
async def add_service_account(
    context: RequestContext, organization: str, body: api.ServiceAccountBody
) -> api.MemberView:
    made = await context.atoll.tenancy.organizations.add_service_account(
        context.caller, organization, body.name, role=body.role, groups=body.groups
    )
    return _member(made)


@operations.serves(ServiceAccounts.remove)
async def remove_service_account(context: RequestContext, organization: str, account: str) -> None:
    organizations = context.atoll.tenancy.organizations
    await organizations.remove_service_account(context.caller, organization, account)


def organization_view(membership: Membership) -> api.OrganizationView:
    """Return an organization, and the caller's role in it."""
    found = membership.organization
    return answer_of(api.OrganizationView, found, organization_id=found.id, role=membership.role)


def _id(member: Member) -> str:
    return member.id


def _member(member: Member) -> api.MemberView:
    return answer_of(api.MemberView, member, member_id=member.id)
