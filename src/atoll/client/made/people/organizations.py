"""Organizations, their members and service accounts.

Made from the declarations of the API by `scripts/client`.
"""

from collections.abc import Sequence
from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.dashboards.dashboards import OwnerBody
from atoll.client.made.people.invitations import (
    AcceptBody,
    InviteBody,
    MadeOrgInvitation,
    OrgInvitationList,
)
from atoll.client.made.people.logins import RealmList
from atoll.client.made.people.own_logins import OwnLink, OwnLogin
from atoll.client.made.people.ownership import WaitingSandboxList
from atoll.client.made.people.quotas import BoundsOfNetworks, NetworkBoundsBody, QuotaList
from atoll.client.made.sandboxes.oversight import OverseenPage, RunningList
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.made.workers.oversight import BackendHealthList, OverseenWorkerPage
from atoll.client.parts import organization_of
from atoll.client.transport import Call, Pairs, Transport, api_path, get, patch, post, put, query_of

OrgRole = Literal["owner", "admin", "member", "viewer"]

ActorKind = Literal["adm", "agt", "atm"]

State = Literal[
    "requested",
    "provisioning",
    "ready",
    "active",
    "stopped",
    "expired",
    "failed",
    "destroying",
    "destroyed",
]

SortKey = Literal["name", "state", "owner", "created", "tokens", "traffic"]


class Organization(Shape):
    """An organization and the caller's role in it. `created_at` is null for the one of
    single-person mode, which has no other members."""

    organization_id = fields.text()
    slug = fields.text()
    name = fields.text()
    created_at = fields.text()
    role: Field[OrgRole] = fields.word()


class OrganizationList(Shape):
    """The caller's organizations."""

    organizations = fields.many(Organization)
    next = fields.text()


class Member(Shape):
    """A member: a person (`adm`) or a service account (`atm`). With `groups_claimed` the groups
    come from the login provider, and cannot be changed here."""

    member_id = fields.text()
    kind: Field[ActorKind] = fields.word()
    name = fields.text()
    email = fields.text()
    role: Field[OrgRole] = fields.word()
    groups = fields.texts()
    groups_claimed = fields.flag()
    since = fields.text()


class MemberList(Shape):
    """The members of an organization."""

    members = fields.many(Member)
    next = fields.text()


class OrganizationBody(TypedDict, total=False):
    """An organization to make; `name` is the slug where it is left out."""

    slug: Required[str]
    name: str | None


class OrganizationChangeBody(TypedDict, total=False):
    """A change of an organization's names; what is left out stays."""

    slug: str | None
    name: str | None


class MemberBody(TypedDict, total=False):
    """A change of a member; what is left out stays."""

    role: OrgRole | None
    groups: list[str] | None


class ServiceAccountBody(TypedDict, total=False):
    """A service account to make: a member that acts as automation (`atm`)."""

    name: Required[str]
    role: OrgRole
    groups: list[str]


class PlainOrganizations:
    """Organizations, and the caller's membership. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def invitations(self, ref: str | None, *, query: Pairs = ()) -> OrgInvitationList:
        """Return the invitations that can still be accepted."""
        own = organization_of(self._transport, ref)
        return self._transport.read_all(
            OrgInvitationList, get("organizations", own, "invitations", query=query)
        )

    def invite(self, ref: str | None, body: InviteBody) -> MadeOrgInvitation:
        """Invite somebody. Only owners invite owners."""
        own = organization_of(self._transport, ref)
        return self._transport.read(
            MadeOrgInvitation, post("organizations", own, "invitations", value=body)
        )

    def uninvite(self, ref: str | None, invitation: str) -> None:
        """Take an invitation back."""
        own = organization_of(self._transport, ref)
        self._transport.call(
            Call("DELETE", api_path("organizations", own, "invitations", invitation))
        )

    def accept(self, body: AcceptBody) -> Organization:
        """Become a member by an invitation, which is used up by that."""
        return self._transport.read(Organization, post("invitations", "accept", value=body))

    def realms(self) -> RealmList:
        """Return how people log in here."""
        return self._transport.read(RealmList, get("auth", "realms")._replace(path="/auth/realms"))

    def list(self, *, query: Pairs = ()) -> OrganizationList:
        """Return the caller's organization; all of them to who runs the installation."""
        return self._transport.read_all(OrganizationList, get("organizations", query=query))

    def create(self, body: OrganizationBody) -> Organization:
        """Make an organization. The first one takes the place of `personal` under the same id:
        all that is there belongs to it from then on."""
        return self._transport.read(Organization, post("organizations", value=body))

    def get(self, ref: str | None) -> Organization:
        """Return one organization."""
        own = organization_of(self._transport, ref)
        return self._transport.read(Organization, get("organizations", own))

    def leave(self, ref: str | None) -> None:
        """Leave an organization, like a member who is removed. The last owner cannot."""
        own = organization_of(self._transport, ref)
        self._transport.call(post("organizations", own, "leave"))

    def members(self, ref: str | None, *, query: Pairs = ()) -> MemberList:
        """Return the members, service accounts among them."""
        own = organization_of(self._transport, ref)
        return self._transport.read_all(
            MemberList, get("organizations", own, "members", query=query)
        )

    def change(self, ref: str | None, member: str, body: MemberBody) -> Member:
        """Give a member another role or other groups. Only owners make owners, or change them.
        What the member has open is closed within 5 seconds when its role allows less."""
        own = organization_of(self._transport, ref)
        return self._transport.read(
            Member, patch("organizations", own, "members", member, value=body)
        )

    def remove(self, ref: str | None, member: str) -> None:
        """Remove a member: its connections close within 5 seconds, its secrets, links and
        approvals end, and its sandboxes are stopped and wait for another owner."""
        own = organization_of(self._transport, ref)
        self._transport.call(Call("DELETE", api_path("organizations", own, "members", member)))

    def add_service_account(self, ref: str | None, body: ServiceAccountBody) -> Member:
        """Make a service account. It cannot be an owner."""
        own = organization_of(self._transport, ref)
        return self._transport.read(
            Member, post("organizations", own, "service-accounts", value=body)
        )

    def own_login(self) -> OwnLogin:
        """Return the caller's login at a provider. Only the person who runs the installation has
        one."""
        return self._transport.read(OwnLogin, get("me", "login"))

    def link_login(self) -> OwnLink:
        """Make a link, for the caller to open where they have logged in at a provider."""
        return self._transport.read(OwnLink, post("me", "login"))

    def unlink_login(self) -> None:
        """End the caller's login at a provider: its sessions end, and who logs in there is
        somebody else from now on."""
        self._transport.call(Call("DELETE", api_path("me", "login")))

    def give(self, sandbox: str, body: OwnerBody) -> Sandbox:
        """Give the sandbox to another member, with its history. One that runs is stopped first.
        Links to it end, and secrets of its scope are removed; its files go along as they are."""
        return self._transport.read(Sandbox, post("sandboxes", sandbox, "owner", value=body))

    def waiting(self, ref: str | None, *, query: Pairs = ()) -> WaitingSandboxList:
        """Return the sandboxes whose owner is gone. An administrator gives them to somebody, or
        destroys them."""
        own = organization_of(self._transport, ref)
        return self._transport.read_all(
            WaitingSandboxList, get("organizations", own, "waiting-sandboxes", query=query)
        )

    def own_quota(self) -> QuotaList:
        """Return the caller's quota and the organization's, with what is held of each."""
        return self._transport.read(QuotaList, get("quota"))

    def quotas(self, ref: str | None, *, query: Pairs = ()) -> QuotaList:
        """Return the organization's quota, and those of members that have one."""
        own = organization_of(self._transport, ref)
        return self._transport.read_all(QuotaList, get("organizations", own, "quotas", query=query))

    def network_bounds(self, ref: str | None) -> BoundsOfNetworks:
        """Return what networks of the caller's sandboxes may open."""
        own = organization_of(self._transport, ref)
        return self._transport.read(BoundsOfNetworks, get("organizations", own, "network"))

    def bound_networks(self, ref: str | None, body: NetworkBoundsBody) -> BoundsOfNetworks:
        """Replace the organization's bounds of networks, which take away from the
        installation's. An empty object removes them. What runs is narrowed at once."""
        own = organization_of(self._transport, ref)
        return self._transport.read(
            BoundsOfNetworks, put("organizations", own, "network", value=body)
        )

    def oversee(
        self,
        ref: str | None,
        *,
        states: Sequence[State] = (),
        owner: str | None = None,
        q: str | None = None,
        sort: SortKey | None = None,
        descending: bool | None = None,
        offset: int | None = None,
        limit: int | None = None,
        query: Pairs = (),
    ) -> OverseenPage:
        """Return the sandboxes of an organization, whoever owns them. Their files, terminals and
        tasks stay their owners'."""
        own = organization_of(self._transport, ref)
        return self._transport.read(
            OverseenPage,
            get(
                "organizations",
                own,
                "sandboxes",
                query=query_of(
                    state=states,
                    owner=owner,
                    q=q,
                    sort=sort,
                    descending=descending,
                    offset=offset,
                    limit=limit,
                )
                + query,
            ),
        )

    def list_running(self) -> RunningList:
        """Return every sandbox of the installation that runs or is being made, whoever owns it."""
        return self._transport.read(RunningList, get("running"))

    def workers(self, ref: str | None, *, query: Pairs = ()) -> OverseenWorkerPage:
        """Return the workers of an organization, whoever owns them."""
        own = organization_of(self._transport, ref)
        return self._transport.read_all(
            OverseenWorkerPage, get("organizations", own, "workers", query=query)
        )

    def backends(self, ref: str | None) -> BackendHealthList:
        """Return where workers of an organization run and were lost. Who runs the installation
        also gets how backends fared at each place."""
        own = organization_of(self._transport, ref)
        return self._transport.read(
            BackendHealthList, get("organizations", own, "workers", "backends")
        )
