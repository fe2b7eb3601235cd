"""Routes: the decision of each sandbox, explanations, default rules, and health.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.hosts.hosts import CostBody, HostCost
from atoll.client.transport import Transport, get, post, put

IsolationLevel = Literal["none", "policy", "container", "microvm"]

ExecutionMode = Literal["desktop", "sandbox"]

Strategy = Literal[
    "desktop_preferred", "prefer-self-hosted", "lowest-cost", "lowest-latency", "explicit"
]

Breaker = Literal["closed", "open", "half-open"]

NetworkMode = Literal["none", "limited", "host-only", "full"]


class RouteConstraints(Shape):
    """Limits that a backend must keep; null is no limit."""

    max_cost_per_hour = fields.one(HostCost)
    require_isolation: Field[IsolationLevel] = fields.word()
    region = fields.text()
    gpu = fields.text()
    max_ready_ms = fields.number()
    min_success = fields.decimal()
    execution_mode: Field[ExecutionMode] = fields.word()


class RoutePolicy(Shape):
    """A policy: `extensions` in declared order; none are all that are installed. `fallback` is
    the same by the word that profiles have for it."""

    strategy: Field[Strategy] = fields.word()
    extensions = fields.texts()
    fallback = fields.texts()
    constraints = fields.one(RouteConstraints)


class RouteRules(Shape):
    """Rules: `default` is null where none was set, `allow` where every backend is allowed."""

    default = fields.one(RoutePolicy)
    allow = fields.texts()


class DefaultRoute(Shape):
    """The rules of the caller's organization and of the installation, and the policy that
    profiles without one follow by them."""

    organization = fields.one(RouteRules)
    installation = fields.one(RouteRules)
    effective = fields.one(RoutePolicy)


class RouteHealth(Shape):
    """Health as measured in the last day; null while nothing was. `success` is from 0 to 1."""

    attempts = fields.number()
    success = fields.decimal()
    p50_ms = fields.number(-1)
    p95_ms = fields.number(-1)
    breaker: Field[Breaker] = fields.word()


class PlaceHealth(Shape):
    """The health of an extension at a host, or in a vendor's region."""

    extension = fields.text()
    place = fields.text()
    health = fields.one(RouteHealth)


class PlaceHealthList(Shape):
    """The health of every place where something was tried."""

    places = fields.many(PlaceHealth)


class RouteCandidate(Shape):
    """A backend at one place, in the order in which it is tried. `fit` is false where `reasons`
    say why it cannot take the sandbox. `host` is empty on a vendor's machines."""

    extension = fields.text()
    host = fields.text()
    region = fields.text()
    fit = fields.flag()
    reasons = fields.texts()
    isolation: Field[IsolationLevel] = fields.word()
    self_hosted = fields.flag()
    execution_mode: Field[ExecutionMode] = fields.word()
    gpus = fields.texts()
    cost_per_hour = fields.one(HostCost)
    health = fields.one(RouteHealth)


class RouteNeed(Shape):
    """The needs of the sandbox that candidates were judged by."""

    isolation: Field[IsolationLevel] = fields.word()
    image = fields.text()
    closed_network = fields.flag()
    cpu = fields.decimal()
    memory_mb = fields.number()
    workspace_mb = fields.number()


class RouteChoice(Shape):
    """The backend and the place that were chosen."""

    extension = fields.text()
    host = fields.text()
    region = fields.text()


class RouteDecision(Shape):
    """A decision: what it was made from, and the verdict on every candidate. `only` is the
    backend that the caller named; every one of `limits` holds."""

    strategy: Field[Strategy] = fields.word()
    extensions = fields.texts()
    only = fields.text()
    limits = fields.many(RouteConstraints)
    need = fields.one(RouteNeed)
    candidates = fields.many(RouteCandidate)
    chosen = fields.one(RouteChoice)


class RouteAttempt(Shape):
    """A start at one place that ended; `reason` is why it failed, null when it was ready."""

    extension = fields.text()
    host = fields.text()
    region = fields.text()
    at = fields.text()
    reason = fields.text()


class RouteMove(Shape):
    """An evacuation that brought the sandbox's files from one host to another."""

    source = fields.text()
    target = fields.text()
    at = fields.text()


class Route(RouteDecision):
    """The stored decision of a sandbox, and the attempts and the moves since, oldest first."""

    route_id = fields.text()
    sandbox_id = fields.text()
    at = fields.text()
    attempts = fields.many(RouteAttempt)
    moves = fields.many(RouteMove)


class ConstraintsBody(TypedDict, total=False):
    """Limits that a backend must keep; what is left out or null is no limit. What is unknown of
    a backend keeps no limit. `min_success` is a share from 0 to 1."""

    max_cost_per_hour: CostBody | None
    require_isolation: IsolationLevel | None
    region: str | None
    gpu: str | None
    max_ready_ms: int | None
    min_success: float | None
    execution_mode: ExecutionMode | None


class RouteOptionsBody(TypedDict, total=False):
    """The narrower choice of one request: never more than its profile's route allows. A named
    `extension` is the only one that is tried. `accept_open_network` agrees to one that cannot
    close its network."""

    max_cost_per_hour: CostBody | None
    require_isolation: IsolationLevel | None
    region: str | None
    gpu: str | None
    max_ready_ms: int | None
    min_success: float | None
    execution_mode: ExecutionMode | None
    strategy: Strategy | None
    extension: str | None
    accept_open_network: bool


class MountBody(TypedDict, total=False):
    """A directory of the host. `grant` is the consent of the person at this machine, made by the
    command line. A directory that holds keys or logins is `private_folder` unless `private`
    agrees to it."""

    source: Required[str]
    target: Required[str]
    access: Literal["ro", "rw"]
    grant: str | None
    private: bool


class InputsBody(TypedDict, total=False):
    """The references of the consumer: `repo_ref` is the repository where `repos` names none, as
    `owner/repo@REF`, an address with `@REF` behind it, or `upload:KEY@REF`; `@REF` names the
    branch or tag where a new branch begins. `compose_bundle_ref` is a compose file or its
    folder, as `repo:PATH`, `compose_bundle` such a file itself. What does not resolve is
    refused."""

    repo_ref: str | None
    compose_bundle_ref: str | None
    compose_bundle: str | None


class ExplainBody(TypedDict, total=False):
    """The parts of a request for a sandbox that decide where it goes, as `POST /v1/sandboxes`
    has them."""

    profile: str
    profile_version: str | None
    mounts: list[MountBody]
    inputs: InputsBody
    network_mode: NetworkMode | None
    host: str | None
    route: RouteOptionsBody


class RoutePolicyBody(TypedDict, total=False):
    """A policy: `extensions` in declared order; none are all that are installed. `fallback` is
    the same by the word that profiles have for it: give one of the two."""

    strategy: Strategy
    extensions: list[str]
    fallback: list[str]
    constraints: ConstraintsBody


class RouteRulesBody(TypedDict, total=False):
    """The rules of the caller's organization or of the installation, which replace those before:
    `default` is the policy of profiles without one, `allow` the backends that may be used, null
    all of them."""

    scope: Literal["organization", "installation"]
    default: RoutePolicyBody | None
    allow: list[str] | None


class Routes:
    """The routes of sandboxes. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def default(self) -> DefaultRoute:
        """Return the rules that hold for the caller's organization."""
        return self._transport.read(DefaultRoute, get("routes", "default"))

    def set_default(self, body: RouteRulesBody) -> DefaultRoute:
        """Replace the rules of the caller's organization, or of the installation."""
        return self._transport.read(DefaultRoute, put("routes", "default", value=body))

    def health(self) -> PlaceHealthList:
        """Return how backends fared at each place, as routes see it."""
        return self._transport.read(PlaceHealthList, get("routes", "health"))

    def explain(self, body: ExplainBody) -> RouteDecision:
        """Return where a sandbox would go, and why there; nothing is created."""
        return self._transport.read(RouteDecision, post("routes", "explain", value=body))

    def get(self, route: str) -> Route:
        """Return where a sandbox went, and why there."""
        return self._transport.read(Route, get("routes", route))
