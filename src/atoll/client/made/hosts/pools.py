"""Pools: what is built of a profile before anybody asks for a sandbox.

Made from the declarations of the API by `scripts/client`.
"""

from typing import TypedDict

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.transport import Call, Transport, api_path, get, put


class Pool(Shape):
    """A pool. `ready` wait for a sandbox, and `building` will; `taken` became sandboxes, and
    `missed` sandboxes found none. `trouble` is why the last one could not be built, null when it
    was."""

    profile = fields.text()
    min = fields.number()
    max = fields.number()
    idle = fields.number()
    ready = fields.number()
    building = fields.number()
    taken = fields.number()
    missed = fields.number()
    trouble = fields.text()
    set_by = fields.text()
    set_at = fields.text()


class PoolList(Shape):
    """The pools of an organization, by profile."""

    pools = fields.many(Pool)


class PoolBody(TypedDict, total=False):
    """The size of a pool: `min` are always there, up to `max` while somebody took one in the
    last `idle` seconds, ten minutes where it is left out."""

    min: int
    max: int
    idle: int | str | None


class Pools:
    """Pools of the caller's organization. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> PoolList:
        """Return the pools of the organization."""
        return self._transport.read(PoolList, get("pools"))

    def get(self, profile_id: str) -> Pool:
        """Return the pool of a profile."""
        return self._transport.read(Pool, get("pools", profile_id))

    def set(self, profile_id: str, body: PoolBody) -> Pool:
        """Set the size of a profile's pool, which is made where there is none. Beyond what all
        pools of the installation may hold together it is `limit_reached`."""
        return self._transport.read(Pool, put("pools", profile_id, value=body))

    def remove(self, profile_id: str) -> None:
        """Remove a pool. What waits in it ends; sandboxes that came of it stay."""
        self._transport.call(Call("DELETE", api_path("pools", profile_id)))
