"""Organizations, their members and service accounts.

An organization is named by its id or its slug. One that is not the caller's answers like one that
does not exist.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_GROUPS, MAX_NAME, OrgRole

Slug = Annotated[str, Meta(min_length=2, max_length=40)]
PersonName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
Groups = Annotated[list[Annotated[str, Meta(max_length=128)]], Meta(max_length=MAX_GROUPS)]


class OrganizationBody(Request):
    """An organization to make; `name` is the slug where it is left out."""

    slug: Slug
    name: PersonName | None = None


class OrganizationChangeBody(Request):
    """A change of an organization's names; what is left out stays."""

    slug: Slug | None = None
    name: PersonName | None = None


class MemberBody(Request):
    """A change of a member; what is left out stays."""

    role: OrgRole | None = None
    groups: Groups | None = None


class ServiceAccountBody(Request):
    """A service account to make: a member that acts as automation (`atm`)."""

    name: PersonName
    role: OrgRole = OrgRole.MEMBER
    groups: Groups = []


class OrganizationView(Answer):
    """An organization and the caller's role in it. `created_at` is null for the one of
    single-person mode, which has no other members."""

    organization_id: str
    slug: str
    name: str
    created_at: str | None
    role: OrgRole


class OrganizationList(Answer):
    """The caller's organizations."""

    organizations: list[OrganizationView]
    next: str | None


class MemberView(Answer):
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


class MemberList(Answer):
    """The members of an organization."""

    members: list[MemberView]
    next: str | None


_FAILURES = (404, 409, 413)


class Organizations(Area):
    """Organizations, and the caller's membership."""

    tag = "organizations"
    needs = "org.read"

    @operation("GET /v1/organizations", name="list_organizations", problems=(404,))
    def list(self, *, page: Paging = FIRST_PAGE) -> OrganizationList:
        """Return the caller's organization; all of them to who runs the installation."""

    @operation(
        "POST /v1/organizations",
        name="create_organization",
        status=201,
        needs="system.manage",
        problems=(409, 413),
    )
    def create(self, body: OrganizationBody) -> OrganizationView:
        """Make an organization. The first one takes the place of `personal` under the same id: all
        that is there belongs to it from then on."""

    @operation("GET /v1/organizations/{organization}", name="get_organization", problems=(404,))
    def get(self, organization: ItemId) -> OrganizationView:
        """Return one organization."""

    @operation(
        "PATCH /v1/organizations/{organization}",
        name="change_organization",
        needs="org.manage",
        problems=_FAILURES,
    )
    def rename(self, organization: ItemId, body: OrganizationChangeBody) -> OrganizationView:
        """Rename an organization. Its id stays."""

    @operation(
        "POST /v1/organizations/{organization}/leave",
        name="leave_organization",
        status=204,
        needs="me.manage",
        problems=_FAILURES,
    )
    def leave(self, organization: ItemId) -> None:
        """Leave an organization, like a member who is removed. The last owner cannot."""


class Members(Area):
    """The members of an organization."""

    tag = "organizations"
    needs = "org.manage"

    @operation(
        "GET /v1/organizations/{organization}/members",
        name="list_members",
        needs="org.read",
        problems=(404,),
    )
    def list(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> MemberList:
        """Return the members, service accounts among them."""

    @operation(
        "PATCH /v1/organizations/{organization}/members/{member}",
        name="change_member",
        problems=_FAILURES,
    )
    def change(self, organization: ItemId, member: ItemId, body: MemberBody) -> MemberView:
        """Give a member another role or other groups. Only owners make owners, or change them. What
        the member has open is closed within 5 seconds when its role allows less."""

    @operation(
        "DELETE /v1/organizations/{organization}/members/{member}",
        name="remove_member",
        status=204,
        problems=_FAILURES,
    )
    def remove(self, organization: ItemId, member: ItemId) -> None:
        """Remove a member: its connections close within 5 seconds, its secrets, links and approvals
        end, and its sandboxes are stopped and wait for another owner."""


class ServiceAccounts(Area):
    """The members of an organization that act as automation."""

    tag = "organizations"
    needs = "org.manage"

    @operation(
        "GET /v1/organizations/{organization}/service-accounts",
        name="list_service_accounts",
        needs="org.read",
        problems=(404,),
    )
    def list(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> MemberList:
        """Return the members that are service accounts."""

    @operation(
        "POST /v1/organizations/{organization}/service-accounts",
        name="add_service_account",
        status=201,
        problems=_FAILURES,
    )
    def add(self, organization: ItemId, body: ServiceAccountBody) -> MemberView:
        """Make a service account. It cannot be an owner."""

    @operation(
        "DELETE /v1/organizations/{organization}/service-accounts/{account}",
        name="remove_service_account",
        status=204,
        problems=_FAILURES,
    )
    def remove(self, organization: ItemId, account: ItemId) -> None:
        """Delete a service account, like a member who is removed."""
