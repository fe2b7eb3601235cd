"""Networks of sandboxes and their safety layers."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.annotations import Unshown
from atoll.wire.api.fields import SandboxRef, Word
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.networks import NetworkMode

Rules = Annotated[list[Word], Meta(max_length=200), Unshown()]
Port = Annotated[int, Meta(ge=1, le=65535)]


class WithheldView(Answer):
    """A value of the network that is not in force: it is beyond a bound, and `whose` that is."""

    field: str
    text: str
    whose: str


class EgressRule(Answer):
    """An allowed destination. `host` is canonical, or `*.name` for exactly one more label.
    `methods` and `paths` (prefixes of whole segments) bind plain HTTP; empty allows all. `origin`
    names who wrote the rule: `profile`, `preset:pypi`, `owner`."""

    host: str
    ports: list[int]
    methods: list[str]
    paths: list[str]
    origin: str


class NetworkView(Answer):
    """The destinations that a sandbox may reach.

    All of it is in force: what a bound of the installation or the organization takes away is
    `withheld`. `egress` is the profile's, `allowed` and `denied` the owner's; `rules` is their
    result, presets expanded. Denied hosts take precedence.
    """

    mode: NetworkMode
    egress: list[str]
    allowed: list[str]
    denied: list[str]
    host_ports: list[int]
    ranges: list[str]
    ports: list[int]
    out_mb_per_hour: int | None
    in_mb_per_hour: int | None
    rules: list[EgressRule]
    withheld: list[WithheldView]


class NetworkBody(Request):
    """The changes; what is left out stays.

    `allow` and `deny` are added, `forget` removes what was allowed or denied before; ports and
    ranges are set whole.
    """

    mode: NetworkMode | None = None
    allow: Rules = []
    deny: Rules = []
    forget: Rules = []
    host_ports: Annotated[list[Port], Meta(max_length=64)] | None = None
    ranges: Annotated[list[Word], Meta(max_length=64)] | None = None


class Layer(Answer):
    """A safety layer. `bypassable`: a program inside can bypass it on purpose."""

    number: int
    name: str
    in_force: bool
    bypassable: bool
    text: str


class Part(Answer):
    """A part of the wall itself; `weakened`: this sandbox has it in a weaker form."""

    name: str
    in_force: bool
    weakened: bool
    text: str


class SafetyView(Answer):
    """The six layers, the wall in front of them (once it ran), and its missing parts."""

    layers: list[Layer]
    wall: list[Part]
    degraded: list[str]


class SandboxNetworks(Area):
    """The networks and the safety layers of sandboxes."""

    tag = "networks"
    needs = "sandbox.read"

    @operation("GET /v1/sandboxes/{sandbox}/network", name="get_network", problems=(404,))
    def get(self, sandbox: SandboxRef) -> NetworkView:
        """Return the network of a sandbox."""

    @operation(
        "PUT /v1/sandboxes/{sandbox}/network",
        name="switch_network",
        needs="sandbox.manage",
        problems=(403, 404, 409, 413),
    )
    def switch(self, sandbox: SandboxRef, body: NetworkBody) -> NetworkView:
        """Change the network while the sandbox lives; connections that are no longer allowed are
        closed at once."""

    @operation("GET /v1/sandboxes/{sandbox}/safety", name="get_safety", problems=(404,))
    def safety(self, sandbox: SandboxRef) -> SafetyView:
        """Return the safety layers in force."""
