"""Hosts over the API: the machines that sandboxes are placed on, for administrators."""

from collections.abc import Mapping
from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.bodies import CostBody
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Transport, at, get, patch, post

HostKind = Literal["local", "ssh", "desktop"]
HostState = Literal["active", "draining"]


class HostRoom(Shape):
    """Room of a host; what is missing is not limited. Cores are in `value`."""

    sandboxes = fields.number(-1)
    memory_mb = fields.number(-1)

    @property
    def cpu(self) -> float | None:
        """Return the cores."""
        found = self.value.get("cpu")
        return float(found) if isinstance(found, int | float) else None


class HostCost(Shape):
    """The price of an hour."""

    micros = fields.number()
    currency = fields.text()


class Host(Shape):
    """A host, and the room that is taken on it."""

    host_id = fields.text()
    name = fields.text()
    kind: Field[HostKind] = fields.word()
    address = fields.text()
    fingerprint = fields.text()
    region = fields.text()
    capacity = fields.one(HostRoom)
    cost_per_hour = fields.one(HostCost)
    organization = fields.text()
    profile = fields.text()
    state: Field[HostState] = fields.word()
    used = fields.one(HostRoom)
    kept = fields.number()

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels by name."""
        found = self.value.get("labels")
        pairs = found.items() if isinstance(found, Mapping) else ()
        return {name: str(value) for name, value in pairs}


class AddedHost(Host):
    """A new host, and the line for `~/.ssh/authorized_keys` there."""

    authorized_key = fields.text()


class Moving(Shape):
    """A sandbox whose files go to another host."""

    sandbox_id = fields.text()
    name = fields.text()
    to = fields.text()


class Staying(Shape):
    """A sandbox that stays, and why."""

    sandbox_id = fields.text()
    name = fields.text()
    reason = fields.text()


class Evacuation(Shape):
    """The sandboxes that a host had; both lists are empty where no evacuation was asked for."""

    moving = fields.many(Moving)
    staying = fields.many(Staying)


class DrainedHost(Host):
    """A drained host, and what moves from it."""

    evacuation = fields.one(Evacuation)


class DrainBody(TypedDict, total=False):
    """A drain."""

    evacuate: bool


class HostList(Shape):
    """Every host, by name."""

    hosts = fields.many(Host)


class HostCheck(Shape):
    """Result of a look at a host. `key_unchanged` is false also where no key is compared."""

    reachable = fields.flag()
    key_unchanged = fields.flag()
    wall = fields.flag()
    problems = fields.texts()
    lacks = fields.texts()


class HostTrust(Shape):
    """The pinned and the shown fingerprints of a host."""

    name = fields.text()
    pinned = fields.text()
    shown = fields.texts()


class TrustBody(TypedDict, total=False):
    """The key to pin."""

    fingerprint: str | None


class CapacityBody(TypedDict, total=False):
    """The room for sandboxes that run."""

    sandboxes: int | None
    cpu: float | None
    memory_mb: int | None


class HostChangeBody(TypedDict, total=False):
    """A change of what is said of a host."""

    region: str | None
    labels: dict[str, str] | None
    capacity: CapacityBody | None
    overcommit: float | None
    cost_per_hour: CostBody | None
    organization: str | None
    profile: str | None


class HostBody(HostChangeBody, total=False):
    """A host to add."""

    address: Required[str]
    name: str | None
    host_key: str | None
    fingerprint: str | None


class Hosts:
    """The hosts of the installation. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> HostList:
        """Return every host."""
        return self._transport.read(HostList, get("hosts"))

    def add(self, body: HostBody) -> AddedHost:
        """Add a host and pin its key."""
        return self._transport.read(AddedHost, post("hosts", value=body))

    def get(self, host: str) -> Host:
        """Return a host, by its name or its id."""
        return self._transport.read(Host, get("hosts", host))

    def change(self, host: str, body: HostChangeBody) -> Host:
        """Change what is said of a host."""
        return self._transport.read(Host, patch("hosts", host, value=body))

    def check(self, host: str) -> HostCheck:
        """Look at a host now."""
        return self._transport.read(HostCheck, post("hosts", host, "check"))

    def trust(self, host: str, fingerprint: str | None = None) -> HostTrust:
        """Return the pinned and the shown fingerprints; pin the shown key with this one."""
        body: TrustBody = {} if fingerprint is None else {"fingerprint": fingerprint}
        return self._transport.read(HostTrust, post("hosts", host, "trust", value=body))

    def drain(self, host: str, *, evacuate: bool = False) -> DrainedHost:
        """Have a host take no new sandbox; with `evacuate` its stopped ones move elsewhere."""
        body: DrainBody = {"evacuate": evacuate}
        return self._transport.read(DrainedHost, post("hosts", host, "drain", value=body))

    def undrain(self, host: str) -> Host:
        """Have a host take sandboxes again."""
        return self._transport.read(Host, post("hosts", host, "undrain"))

    def remove(self, host: str) -> None:
        """Forget a host, which no sandbox may be on."""
        self._transport.call(Call("DELETE", at("hosts", host)))
