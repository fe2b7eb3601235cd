"""Quotas: one's own beside what one holds, those of an organization, and its bounds of networks."""

from typing import Annotated

from msgspec import Meta, field

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging, Word
from atoll.wire.api.operation import Answer, Area, Request, operation

Count = Annotated[int, Meta(ge=0)]
Entries = Annotated[list[Word], Meta(max_length=64)]
Quantity = Annotated[str, Meta(min_length=1, max_length=20)]


class QuotaBody(Request):
    """A quota; what is left out or null is not limited."""

    sandboxes: Count | None = None
    concurrent_sessions: Count | None = field(name="concurrentSessions", default=None)
    cpu: Quantity | None = None
    memory: Quantity | None = None
    storage: Quantity | None = None


class QuantitiesView(Answer):
    """Quantities: cores, and sizes in `Mi`, `Gi` or `Ti`; null is not limited."""

    sandboxes: int | None
    concurrent_sessions: int | None = field(name="concurrentSessions")
    cpu: str | None
    memory: str | None
    storage: str | None


class NetworkBoundsBody(Request):
    """The most that networks of the organization's sandboxes may open; what is left out or null is
    not bounded by it. Ports are such as `5432` or `8000-8100`."""

    full: bool | None = None
    host_ports: Entries | None = None
    ranges: Entries | None = None
    ports: Entries | None = None
    egress: Entries | None = None
    open_network: bool | None = None


class NetworkBoundsView(Answer):
    """The most that a network may open. `egress` are rules, `*` every public name."""

    full: bool
    host_ports: list[str]
    ranges: list[str]
    ports: list[str]
    egress: list[str]
    open_network: bool


class BoundsOfNetworksView(Answer):
    """The bounds of the installation for the caller's sandboxes, and the organization's; null where
    it takes nothing away."""

    installation: NetworkBoundsView
    organization: NetworkBoundsView | None


class HeldQuotaView(Answer):
    """A quota beside what is held; `member` is null for the organization's."""

    member: str | None
    quota: QuantitiesView
    used: QuantitiesView


class QuotaList(Answer):
    """Quotas: the organization's first."""

    quotas: list[HeldQuotaView]
    next: str | None


class Quotas(Area):
    """Quotas of organizations and members."""

    tag = "organizations"
    needs = "org.manage"

    @operation("GET /v1/quota", name="get_quota", needs="org.read", max_items=2)
    def own(self) -> QuotaList:
        """Return the caller's quota and the organization's, with what is held of each."""

    @operation("GET /v1/organizations/{organization}/quotas", name="list_quotas", problems=(404,))
    def list(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> QuotaList:
        """Return the organization's quota, and those of members that have one."""

    @operation("PUT /v1/organizations/{organization}/quotas", name="set_quota", problems=(404, 413))
    def set(self, organization: ItemId, body: QuotaBody) -> HeldQuotaView:
        """Replace the quota of the organization. What is held beyond it stays; nothing new
        begins."""

    @operation(
        "PUT /v1/organizations/{organization}/quotas/{member}",
        name="set_member_quota",
        problems=(404, 413),
    )
    def set_of_member(self, organization: ItemId, member: ItemId, body: QuotaBody) -> HeldQuotaView:
        """Replace the quota of a member."""


class NetworkBounds(Area):
    """The most that networks of an organization's sandboxes may open."""

    tag = "organizations"
    needs = "org.read"

    @operation(
        "GET /v1/organizations/{organization}/network", name="get_network_bounds", problems=(404,)
    )
    def get(self, organization: ItemId) -> BoundsOfNetworksView:
        """Return what networks of the caller's sandboxes may open."""

    @operation(
        "PUT /v1/organizations/{organization}/network",
        name="set_network_bounds",
        needs="org.manage",
        problems=(404, 413),
    )
    def set(self, organization: ItemId, body: NetworkBoundsBody) -> BoundsOfNetworksView:
        """Replace the organization's bounds of networks, which take away from the installation's.
        An empty object removes them. What runs is narrowed at once."""
