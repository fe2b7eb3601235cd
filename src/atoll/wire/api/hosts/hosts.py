"""Hosts: the machines that sandboxes are placed on, for administrators."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import Address, ItemId, Word
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.hosts import (
    MAX_CORES,
    MAX_COUNT,
    MAX_HOSTS,
    MAX_LABELS,
    MAX_MEMORY_MB,
    MAX_MICROS,
    MAX_OVERCOMMIT,
    HostKind,
    HostState,
)

MAX_KEY = 8000

Text = Annotated[str, Meta(max_length=200)]
Cores = Annotated[float, Meta(ge=0, le=MAX_CORES)]
Factor = Annotated[float, Meta(ge=1, le=MAX_OVERCOMMIT)]
Labels = Annotated[dict[Word, Word], Meta(max_length=MAX_LABELS)]


class CostBody(Request):
    """A price of an hour, in millionths of a currency (ISO 4217)."""

    micros: Annotated[int, Meta(ge=0, le=MAX_MICROS)]
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")] = "USD"


class CapacityBody(Request):
    """The room for sandboxes that run; what is left out or null is not limited."""

    sandboxes: Annotated[int, Meta(ge=0, le=MAX_COUNT)] | None = None
    cpu: Cores | None = None
    memory_mb: Annotated[int, Meta(ge=0, le=MAX_MEMORY_MB)] | None = None


class HostChangeBody(Request):
    """A change of what is said of a host; what is left out stays. `organization` and `profile`
    dedicate it to them, and an empty text ends that."""

    region: Text | None = None
    labels: Labels | None = None
    capacity: CapacityBody | None = None
    overcommit: Factor | None = None
    cost_per_hour: CostBody | None = None
    organization: Text | None = None
    profile: Text | None = None


class HostBody(HostChangeBody, kw_only=True):
    """A host that SSH reaches, as `ssh://user@host[:port]`. With `host_key` that key is pinned;
    with `fingerprint` the machine must show a key that has it; else the key it shows is pinned."""

    address: Address
    name: Word | None = None
    host_key: Annotated[str, Meta(min_length=1, max_length=MAX_KEY)] | None = None
    fingerprint: Word | None = None


class HostRoomView(Answer):
    """The room of a host, or the room that is taken; null is not limited."""

    sandboxes: int | None
    cpu: float | None
    memory_mb: int | None


class HostCostView(Answer):
    """A price of an hour, in millionths of a currency."""

    micros: int
    currency: str


class HostView(Answer):
    """A host. `used` is the room that running sandboxes take, `kept` the number of those that take
    none. `overcommit` multiplies the cores and the memory of `capacity`."""

    host_id: str
    name: str
    kind: HostKind
    address: str
    fingerprint: str | None
    region: str
    labels: dict[str, str]
    capacity: HostRoomView
    overcommit: float
    cost_per_hour: HostCostView | None
    organization: str | None
    profile: str | None
    state: HostState
    used: HostRoomView
    kept: int


class AddedHostView(HostView):
    """A new host, and the line that `~/.ssh/authorized_keys` of its user needs."""

    authorized_key: str


class TrustBody(Request):
    """The fingerprint of the shown key that is to be pinned. Without one nothing changes."""

    fingerprint: str | None = None


class HostTrustView(Answer):
    """The fingerprint of the key that is pinned for a host, and of the keys that it shows now."""

    name: str
    pinned: str
    shown: list[str]


class DrainBody(Request):
    """A drain. With `evacuate` the stopped sandboxes of the host move to other hosts."""

    evacuate: bool = False


class MovingView(Answer):
    """A sandbox whose files go to another host."""

    sandbox_id: str
    name: str
    to: str


class StayingView(Answer):
    """A sandbox that stays, and why."""

    sandbox_id: str
    name: str
    reason: str


class EvacuationView(Answer):
    """The sandboxes that the host had. Those that move do so from now on."""

    moving: list[MovingView]
    staying: list[StayingView]


class DrainedHostView(HostView):
    """A drained host. `evacuation` is null where none was asked for."""

    evacuation: EvacuationView | None


class HostList(Answer):
    """Every host, by name."""

    hosts: list[HostView]


class HostCheckView(Answer):
    """Result of a look at a host. `key_unchanged` is null where no key is compared; `problems`
    prevent sandboxes there, `lacks` are what they do without."""

    reachable: bool
    key_unchanged: bool | None
    wall: bool
    problems: list[str]
    lacks: list[str]


class Hosts(Area):
    """The machines that sandboxes are placed on."""

    tag = "hosts"
    needs = "system.manage"

    @operation("GET /v1/hosts", name="list_hosts", max_items=MAX_HOSTS + 1)
    def list(self) -> HostList:
        """Return every host, with the room that is taken on it."""

    @operation("POST /v1/hosts", name="add_host", status=201, problems=(409, 413, 503))
    def add(self, body: HostBody) -> AddedHostView:
        """Add a host and pin its key. A name that is pinned to another key is refused."""

    @operation("GET /v1/hosts/{host}", name="get_host", problems=(404,))
    def get(self, host: ItemId) -> HostView:
        """Return a host, by its name or its id."""

    @operation("PATCH /v1/hosts/{host}", name="change_host", problems=(404, 409, 413))
    def change(self, host: ItemId, body: HostChangeBody) -> HostView:
        """Change what is said of a host. What it holds beyond a new capacity stays."""

    @operation("DELETE /v1/hosts/{host}", name="remove_host", status=204, problems=(404, 409, 413))
    def remove(self, host: ItemId) -> None:
        """Forget a host, which no sandbox may be on. Nothing is removed there."""

    @operation("POST /v1/hosts/{host}/check", name="check_host", problems=(404, 503))
    def check(self, host: ItemId) -> HostCheckView:
        """Look at a host now: its key, its wall, and what it lacks."""

    @operation("POST /v1/hosts/{host}/trust", name="trust_host", problems=(404, 409, 413, 503))
    def trust(self, host: ItemId, body: TrustBody | None = None) -> HostTrustView:
        """Return the pinned and the shown fingerprints of a host, and pin the shown key that is
        named. Sandboxes on it are reached by it from then on."""

    @operation("POST /v1/hosts/{host}/drain", name="drain_host", problems=(404, 413))
    def drain(self, host: ItemId, body: DrainBody | None = None) -> DrainedHostView:
        """Have a host take no new sandbox. Those on it go on, and may be started again. With
        `evacuate` stopped ones move to other hosts, and the answer says which."""

    @operation("POST /v1/hosts/{host}/undrain", name="undrain_host", problems=(404,))
    def undrain(self, host: ItemId) -> HostView:
        """Have a host take sandboxes again."""
