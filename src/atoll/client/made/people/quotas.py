"""Quotas: one's own beside what one holds, those of an organization, and its bounds of networks.

Made from the declarations of the API by `scripts/client`.
"""

from typing import TypedDict

from atoll.client import fields
from atoll.client.fields import Shape


class Quantities(Shape):
    """Quantities: cores, and sizes in `Mi`, `Gi` or `Ti`; null is not limited."""

    sandboxes = fields.number(-1)
    concurrentSessions = fields.number(-1)
    cpu = fields.text()
    memory = fields.text()
    storage = fields.text()


class NetworkBounds(Shape):
    """The most that a network may open. `egress` are rules, `*` every public name."""

    full = fields.flag()
    host_ports = fields.texts()
    ranges = fields.texts()
    ports = fields.texts()
    egress = fields.texts()
    open_network = fields.flag()


class BoundsOfNetworks(Shape):
    """The bounds of the installation for the caller's sandboxes, and the organization's; null
    where it takes nothing away."""

    installation = fields.one(NetworkBounds)
    organization = fields.one(NetworkBounds)


class HeldQuota(Shape):
    """A quota beside what is held; `member` is null for the organization's."""

    member = fields.text()
    quota = fields.one(Quantities)
    used = fields.one(Quantities)


class QuotaList(Shape):
    """Quotas: the organization's first."""

    quotas = fields.many(HeldQuota)
    next = fields.text()


class QuotaBody(TypedDict, total=False):
    """A quota; what is left out or null is not limited."""

    sandboxes: int | None
    concurrentSessions: int | None
    cpu: str | None
    memory: str | None
    storage: str | None


class NetworkBoundsBody(TypedDict, total=False):
    """The most that networks of the organization's sandboxes may open; what is left out or null
    is not bounded by it. Ports are such as `5432` or `8000-8100`."""

    full: bool | None
    host_ports: list[str] | None
    ranges: list[str] | None
    ports: list[str] | None
    egress: list[str] | None
    open_network: bool | None
