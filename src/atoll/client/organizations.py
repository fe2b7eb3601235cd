"""Organizations, their members and invitations, over the API."""

from collections.abc import Sequence
from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.dashboards.dashboards import OwnerBody
from atoll.client.made.people.invitations import (
    AcceptBody,
    InviteBody,
    MadeOrgInvitation,
    OrgInvitationList,
)
from atoll.client.made.people.organizations import (
    Member,
    MemberBody,
    MemberList,
    Organization,
    OrganizationBody,
    OrganizationList,
    OrgRole,
    ServiceAccountBody,
)
from atoll.client.made.people.ownership import WaitingSandboxList
from atoll.client.made.people.quotas import (
    BoundsOfNetworks,
    HeldQuota,
    NetworkBoundsBody,
    QuotaBody,
    QuotaList,
)
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.made.sandboxes.views import State as SandboxState
from atoll.client.shapes import Me
from atoll.client.transport import ANSWER_SECONDS, Call, Transport, at, get, patch, post, put
from atoll.client.workers.shapes import (
    HeartbeatState,
    WorkerPlace,
    WorkerRemoval,
    WorkerRoute,
    WorkerSandbox,
    WorkerStatus,
    WorkerTeardown,
)

ROLES: tuple[OrgRole, ...] = ("owner", "admin", "member", "viewer")


class Realm(Shape):
    """A login provider."""

    realm = fields.text()
    name = fields.text()
    login_path = fields.text()


class RealmList(Shape):
    """The ways to log in: by login links alone (`local`), or at providers, too (`oidc`)."""

    mode: Field[Literal["local", "oidc"]] = fields.word()
    realms = fields.many(Realm)


class Overseen(Shape):
    """A sandbox as administrators of its organization see it."""

    sandbox_id = fields.text()
    name = fields.text()
    state: Field[SandboxState] = fields.word()
    owner = fields.text()


class Running(Overseen):
    """A sandbox that runs on the installation, of whatever organization."""

    reason = fields.text()


class RunningList(Shape):
    """Sandboxes that run on the installation."""

    sandboxes = fields.many(Running)


class OverseenPage(Shape):
    """A page of an organization's sandboxes; `next` is the following offset, 0 on the last page."""

    sandboxes = fields.many(Overseen)
    next = fields.number()


class OverseenWorker(Shape):
    """A worker as administrators of its organization see it: without what its agent says."""

    worker_id = fields.text()
    owner = fields.text()
    agent = fields.text()
    backend = fields.text()
    extension = fields.text()
    status: Field[WorkerStatus] = fields.word()
    reason = fields.text()
    heartbeat_state: Field[HeartbeatState] = fields.word()
    heartbeat_age_ms = fields.number()
    held_by_person = fields.flag()
    sandbox = fields.one(WorkerSandbox)
    route = fields.one(WorkerRoute)
    teardown = fields.one(WorkerTeardown)
    created_at = fields.text()
    remove_at = fields.text()
    torn_down = fields.one(WorkerRemoval)


class OverseenWorkerPage(Shape):
    """A page of an organization's workers, newest first; `next` is empty on the last one."""

    workers = fields.many(OverseenWorker)
    next = fields.text()


class BackendHealth(Shape):
    """A place of an organization's workers: `workers` run there, `lost` were lost in the last day.
    The rest is its health, for who runs the installation: `breaker` is empty to others, and what
    was not measured is missing."""

    placement = fields.one(WorkerPlace)
    attempts = fields.number()
    p50_ms = fields.number(-1)
    p95_ms = fields.number(-1)
    breaker: Field[Literal["closed", "open", "half_open"]] = fields.word()
    workers = fields.number()
    lost = fields.number()

    @property
    def success(self) -> float | None:
        """Return the share of attempts that ended ready."""
        found = self.value.get("success")
        return float(found) if isinstance(found, int | float) else None


class BackendHealthList(Shape):
    """The places of an organization's workers, by name."""

    backends = fields.many(BackendHealth)


class Organizations:
    """Organizations. `ref` is an id or a slug; None is the caller's own."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> OrganizationList:
        """Return the caller's organization, or all of them to who runs the installation."""
        return self._transport.read_all(OrganizationList, get("organizations"))

    def get(self, ref: str | None) -> Organization:
        """Return one organization."""
        return self._transport.read(Organization, get(*self._at(ref)))

    def oversee(
        self, ref: str | None, *, states: Sequence[SandboxState] = (), offset: int = 0
    ) -> OverseenPage:
        """Return a page of an organization's sandboxes, whoever owns them."""
        query = (*(("state", state) for state in states), ("offset", str(offset)))
        return self._transport.read(OverseenPage, get(*self._at(ref), "sandboxes", query=query))

    def workers(self, ref: str | None) -> OverseenWorkerPage:
        """Return an organization's workers, whoever owns them."""
        return self._transport.read_all(OverseenWorkerPage, get(*self._at(ref), "workers"))

    def backends(self, ref: str | None) -> BackendHealthList:
        """Return where an organization's workers run and were lost."""
        call = get(*self._at(ref), "workers", "backends")
        return self._transport.read(BackendHealthList, call)

    def stop(self, ref: str | None, sandbox: str, *, wait_seconds: int = 0) -> Overseen:
        """Have a sandbox of an organization stop, whoever owns it; wait so long for the end."""
        wait = (("wait", "true"), ("timeout", str(wait_seconds))) if wait_seconds else ()
        call = post(*self._at(ref), "sandboxes", sandbox, "stop", query=wait)
        longer = call._replace(timeout=wait_seconds + ANSWER_SECONDS)
        return self._transport.read(Overseen, longer)

    def list_running(self) -> RunningList:
        """Return what runs on the installation, whoever owns it."""
        return self._transport.read(RunningList, get("running"))

    def halt(self, sandbox: str, *, wait_seconds: int) -> Running:
        """Stop a sandbox of the installation, whoever owns it, and wait so long for the end."""
        wait = (("wait", "true"), ("timeout", str(wait_seconds)))
        call = post("running", sandbox, "stop", query=wait)
        return self._transport.read(Running, call._replace(timeout=wait_seconds + ANSWER_SECONDS))

    def create(self, body: OrganizationBody) -> Organization:
        """Make an organization."""
        return self._transport.read(Organization, post("organizations", value=body))

    def members(self, ref: str | None) -> MemberList:
        """Return the members."""
        return self._transport.read_all(MemberList, get(*self._at(ref), "members"))

    def change(self, ref: str | None, member: str, body: MemberBody) -> Member:
        """Give a member another role or other groups."""
        call = patch(*self._at(ref), "members", member, value=body)
        return self._transport.read(Member, call)

    def remove(self, ref: str | None, member: str) -> None:
        """Remove a member or a service account."""
        self._transport.call(Call("DELETE", at(*self._at(ref), "members", member)))

    def leave(self, ref: str | None) -> None:
        """Leave an organization."""
        self._transport.call(post(*self._at(ref), "leave"))

    def own_quota(self) -> QuotaList:
        """Return the organization's quota and the caller's, with what is held of each."""
        return self._transport.read(QuotaList, get("quota"))

    def quotas(self, ref: str | None) -> QuotaList:
        """Return the organization's quota, and those of members that have one."""
        return self._transport.read_all(QuotaList, get(*self._at(ref), "quotas"))

    def network_bounds(self, ref: str | None) -> BoundsOfNetworks:
        """Return what networks of your sandboxes may open."""
        return self._transport.read(BoundsOfNetworks, get(*self._at(ref), "network"))

    def bound_networks(self, ref: str | None, body: NetworkBoundsBody) -> BoundsOfNetworks:
        """Replace the bounds of networks of an organization."""
        return self._transport.read(BoundsOfNetworks, put(*self._at(ref), "network", value=body))

    def set_quota(self, ref: str | None, member: str | None, body: QuotaBody) -> HeldQuota:
        """Replace the quota of a member, or with None of the organization."""
        whose = () if member is None else (member,)
        return self._transport.read(HeldQuota, put(*self._at(ref), "quotas", *whose, value=body))

    def invitations(self, ref: str | None) -> OrgInvitationList:
        """Return the invitations that can still be accepted."""
        return self._transport.read_all(OrgInvitationList, get(*self._at(ref), "invitations"))

    def invite(self, ref: str | None, body: InviteBody) -> MadeOrgInvitation:
        """Invite somebody."""
        call = post(*self._at(ref), "invitations", value=body)
        return self._transport.read(MadeOrgInvitation, call)

    def uninvite(self, ref: str | None, invitation: str) -> None:
        """Take an invitation back."""
        self._transport.call(Call("DELETE", at(*self._at(ref), "invitations", invitation)))

    def accept(self, body: AcceptBody) -> Organization:
        """Become a member by an invitation."""
        return self._transport.read(Organization, post("invitations", "accept", value=body))

    def realms(self) -> RealmList:
        """Return how people log in: with `local`, nobody can accept an invitation."""
        return self._transport.read(RealmList, Call("GET", "/auth/realms"))

    def add_service_account(self, ref: str | None, body: ServiceAccountBody) -> Member:
        """Make a service account."""
        return self._transport.read(Member, post(*self._at(ref), "service-accounts", value=body))

    def waiting(self, ref: str | None) -> WaitingSandboxList:
        """Return the sandboxes whose owner is gone."""
        return self._transport.read_all(
            WaitingSandboxList, get(*self._at(ref), "waiting-sandboxes")
        )

    def give(self, sandbox: str, body: OwnerBody) -> Sandbox:
        """Give a sandbox to another member."""
        return self._transport.read(Sandbox, post("sandboxes", sandbox, "owner", value=body))

    def _at(self, ref: str | None) -> Sequence[str]:
        own = ref if ref is not None else self._transport.read(Me, get("me")).org_id
        return ("organizations", own)
