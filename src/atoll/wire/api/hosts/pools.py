"""Pools: what is built of a profile before anybody asks for a sandbox."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId, Seconds
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.hosts import MAX_POOLED, MAX_POOLS


class PoolBody(Request):
    """The size of a pool: `min` are always there, up to `max` while somebody took one in the last
    `idle` seconds, ten minutes where it is left out."""

    min: Annotated[int, Meta(ge=0, le=MAX_POOLED)] = 0
    max: Annotated[int, Meta(ge=1, le=MAX_POOLED)] = 2
    idle: Seconds | None = None


class PoolView(Answer):
    """A pool. `ready` wait for a sandbox, and `building` will; `taken` became sandboxes, and
    `missed` sandboxes found none. `trouble` is why the last one could not be built, null when it
    was."""

    profile: str
    min: int
    max: int
    idle: int
    ready: int
    building: int
    taken: int
    missed: int
    trouble: str | None
    set_by: str
    set_at: str


class PoolList(Answer):
    """The pools of an organization, by profile."""

    pools: list[PoolView]


class Pools(Area):
    """Pools of the caller's organization."""

    tag = "hosts"
    needs = "org.read"

    @operation("GET /v1/pools", name="list_pools", max_items=MAX_POOLS)
    def list(self) -> PoolList:
        """Return the pools of the organization."""

    @operation("GET /v1/pools/{profile}", name="get_pool", problems=(404,))
    def get(self, profile: ItemId) -> PoolView:
        """Return the pool of a profile."""

    @operation(
        "PUT /v1/pools/{profile}",
        name="set_pool",
        needs="org.manage",
        problems=(404, 409, 413, 429),
    )
    def set(self, profile: ItemId, body: PoolBody) -> PoolView:
        """Set the size of a profile's pool, which is made where there is none. Beyond what all
        pools of the installation may hold together it is `limit_reached`."""

    @operation(
        "DELETE /v1/pools/{profile}",
        name="remove_pool",
        status=204,
        needs="org.manage",
        problems=(404,),
    )
    def remove(self, profile: ItemId) -> None:
        """Remove a pool. What waits in it ends; sandboxes that came of it stay."""
