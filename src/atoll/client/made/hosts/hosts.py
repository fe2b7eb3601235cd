"""Hosts: the machines that sandboxes are placed on, for administrators.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Transport, api_path, get, omit_absent, patch, post

HostKind = Literal["local", "ssh", "desktop"]

HostState = Literal["active", "draining"]


class HostRoom(Shape):
    """The room of a host, or the room that is taken; null is not limited."""

    sandboxes = fields.number(-1)
    cpu = fields.decimal()
    memory_mb = fields.number(-1)


class HostCost(Shape):
    """A price of an hour, in millionths of a currency."""

    micros = fields.number()
    currency = fields.text()


class Host(Shape):
    """A host. `used` is the room that running sandboxes take, `kept` the number of those that
    take none. `overcommit` multiplies the cores and the memory of `capacity`."""

    host_id = fields.text()
    name = fields.text()
    kind: Field[HostKind] = fields.word()
    address = fields.text()
    fingerprint = fields.text()
    region = fields.text()
    labels = fields.named_texts()
    capacity = fields.one(HostRoom)
    overcommit = fields.decimal()
    cost_per_hour = fields.one(HostCost)
    organization = fields.text()
    profile = fields.text()
    state: Field[HostState] = fields.word()
    used = fields.one(HostRoom)
    kept = fields.number()


class AddedHost(Host):
    """A new host, and the line that `~/.ssh/authorized_keys` of its user needs."""

    authorized_key = fields.text()


class HostTrust(Shape):
    """The fingerprint of the key that is pinned for a host, and of the keys that it shows now."""

    name = fields.text()
    pinned = fields.text()
    shown = fields.texts()


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
    """The sandboxes that the host had. Those that move do so from now on."""

    moving = fields.many(Moving)
    staying = fields.many(Staying)


class DrainedHost(Host):
    """A drained host. `evacuation` is null where none was asked for."""

    evacuation = fields.one(Evacuation)


class HostList(Shape):
    """Every host, by name."""

    hosts = fields.many(Host)


class HostCheck(Shape):
    """Result of a look at a host. `key_unchanged` is null where no key is compared; `problems`
    prevent sandboxes there, `lacks` are what they do without."""

    reachable = fields.flag()
    key_unchanged = fields.flag()
    wall = fields.flag()
    problems = fields.texts()
    lacks = fields.texts()


class CostBody(TypedDict, total=False):
    """A price of an hour, in millionths of a currency (ISO 4217)."""

    micros: Required[int]
    currency: str


class CapacityBody(TypedDict, total=False):
    """The room for sandboxes that run; what is left out or null is not limited."""

    sandboxes: int | None
    cpu: float | None
    memory_mb: int | None


class HostChangeBody(TypedDict, total=False):
    """A change of what is said of a host; what is left out stays. `organization` and `profile`
    dedicate it to them, and an empty text ends that."""

    region: str | None
    labels: dict[str, str] | None
    capacity: CapacityBody | None
    overcommit: float | None
    cost_per_hour: CostBody | None
    organization: str | None
    profile: str | None


class HostBody(TypedDict, total=False):
    """A host that SSH reaches, as `ssh://user@host[:port]`. With `host_key` that key is pinned;
    with `fingerprint` the machine must show a key that has it; else the key it shows is pinned."""

    region: str | None
    labels: dict[str, str] | None
    capacity: CapacityBody | None
    overcommit: float | None
    cost_per_hour: CostBody | None
    organization: str | None
    profile: str | None
    address: Required[str]
    name: str | None
    host_key: str | None
    fingerprint: str | None


class Hosts:
    """The machines that sandboxes are placed on. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> HostList:
        """Return every host, with the room that is taken on it."""
        return self._transport.read(HostList, get("hosts"))

    def add(self, body: HostBody) -> AddedHost:
        """Add a host and pin its key. A name that is pinned to another key is refused."""
        return self._transport.read(AddedHost, post("hosts", value=body))

    def get(self, host: str) -> Host:
        """Return a host, by its name or its id."""
        return self._transport.read(Host, get("hosts", host))

    def change(self, host: str, body: HostChangeBody) -> Host:
        """Change what is said of a host. What it holds beyond a new capacity stays."""
        return self._transport.read(Host, patch("hosts", host, value=body))

    def remove(self, host: str) -> None:
        """Forget a host, which no sandbox may be on. Nothing is removed there."""
        self._transport.call(Call("DELETE", api_path("hosts", host)))

    def check(self, host: str) -> HostCheck:
        """Look at a host now: its key, its wall, and what it lacks."""
        return self._transport.read(HostCheck, post("hosts", host, "check"))

    def trust(self, host: str, fingerprint: str | None = None) -> HostTrust:
        """Return the pinned and the shown fingerprints of a host, and pin the shown key that is
        named. Sandboxes on it are reached by it from then on."""
        return self._transport.read(
            HostTrust, post("hosts", host, "trust", value=omit_absent(fingerprint=fingerprint))
        )

    def drain(self, host: str, *, evacuate: bool | None = None) -> DrainedHost:
        """Have a host take no new sandbox. Those on it go on, and may be started again. With
        `evacuate` stopped ones move to other hosts, and the answer says which."""
        return self._transport.read(
            DrainedHost, post("hosts", host, "drain", value=omit_absent(evacuate=evacuate))
        )

    def undrain(self, host: str) -> Host:
        """Have a host take sandboxes again."""
        return self._transport.read(Host, post("hosts", host, "undrain"))
