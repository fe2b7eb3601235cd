"""Routes: the decision of each sandbox, explanations, default rules, and health."""

from typing import Annotated, Literal

from msgspec import Meta, field

from atoll.wire.api.fields import Address, ItemId, Word
from atoll.wire.api.hosts.hosts import CostBody, HostCostView
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.routes import (
    MAX_NAMED,
    MAX_PLACES,
    MAX_READY_MS,
    Breaker,
    ExecutionMode,
    Strategy,
)
from atoll.wire.words.sandboxes import MAX_COMPOSE_BYTES, MAX_MOUNTS
from atoll.wire.words.walls import IsolationLevel

ComposeFile = Annotated[str, Meta(min_length=1, max_length=MAX_COMPOSE_BYTES)]
Names = Annotated[tuple[Word, ...], Meta(max_length=MAX_NAMED)]


class ConstraintsBody(Request):
    """Limits that a backend must keep; what is left out or null is no limit. What is unknown of a
    backend keeps no limit. `min_success` is a share from 0 to 1."""

    max_cost_per_hour: CostBody | None = None
    require_isolation: IsolationLevel | None = None
    region: Word | None = None
    gpu: Word | None = None
    max_ready_ms: Annotated[int, Meta(ge=1, le=MAX_READY_MS)] | None = None
    min_success: Annotated[float, Meta(ge=0, le=1)] | None = None
    execution_mode: ExecutionMode | None = None


class RouteOptionsBody(ConstraintsBody):
    """The narrower choice of one request: never more than its profile's route allows. A named
    `extension` is the only one that is tried. `accept_open_network` agrees to one that cannot close
    its network."""

    strategy: Strategy | None = None
    extension: Word | None = None
    accept_open_network: bool = False


class MountBody(Request, kw_only=True):
    """A directory of the host.

    `grant` is the consent of the person at this machine, made by the command line. A directory that
    holds keys or logins is `private_folder` unless `private` agrees to it.
    """

    source: Address
    target: Address
    access: Literal["ro", "rw"] = "ro"
    grant: Word | None = None
    private: bool = False


class InputsBody(Request):
    """The references of the consumer: `repo_ref` is the repository where `repos` names none, as
    `owner/repo@REF`, an address with `@REF` behind it, or `upload:KEY@REF`; `@REF` names the branch
    or tag where a new branch begins. `compose_bundle_ref` is a compose file or its folder, as
    `repo:PATH`, `compose_bundle` such a file itself. What does not resolve is refused."""

    repo_ref: Address | None = None
    compose_bundle_ref: Address | None = None
    compose_bundle: ComposeFile | None = None


class ExplainBody(Request):
    """The parts of a request for a sandbox that decide where it goes, as `POST /v1/sandboxes` has
    them."""

    profile: Word = "shell"
    profile_version: Word | None = None
    mounts: Annotated[tuple[MountBody, ...], Meta(max_length=MAX_MOUNTS)] = ()
    inputs: InputsBody = field(default_factory=InputsBody)
    network_mode: NetworkMode | None = None
    host: Word | None = None
    route: RouteOptionsBody = field(default_factory=RouteOptionsBody)


class RoutePolicyBody(Request):
    """A policy: `extensions` in declared order; none are all that are installed. `fallback` is the
    same by the word that profiles have for it: give one of the two."""

    strategy: Strategy = Strategy.PREFER_SELF_HOSTED
    extensions: Names = ()
    fallback: Names = ()
    constraints: ConstraintsBody = field(default_factory=ConstraintsBody)


class RouteRulesBody(Request):
    """The rules of the caller's organization or of the installation, which replace those before:
    `default` is the policy of profiles without one, `allow` the backends that may be used, null
    all of them."""

    scope: Literal["organization", "installation"] = "organization"
    default: RoutePolicyBody | None = None
    allow: Names | None = None


class RouteConstraintsView(Answer):
    """Limits that a backend must keep; null is no limit."""

    max_cost_per_hour: HostCostView | None
    require_isolation: IsolationLevel | None
    region: str | None
    gpu: str | None
    max_ready_ms: int | None
    min_success: float | None
    execution_mode: ExecutionMode | None


class RoutePolicyView(Answer):
    """A policy: `extensions` in declared order; none are all that are installed. `fallback` is the
    same by the word that profiles have for it."""

    strategy: Strategy
    extensions: list[str]
    fallback: list[str]
    constraints: RouteConstraintsView


class RouteRulesView(Answer):
    """Rules: `default` is null where none was set, `allow` where every backend is allowed."""

    default: RoutePolicyView | None
    allow: list[str] | None


class DefaultRouteView(Answer):
    """The rules of the caller's organization and of the installation, and the policy that profiles
    without one follow by them."""

    organization: RouteRulesView
    installation: RouteRulesView
    effective: RoutePolicyView


class RouteHealthView(Answer):
    """Health as measured in the last day; null while nothing was. `success` is from 0 to 1."""

    attempts: int
    success: float | None
    p50_ms: int | None
    p95_ms: int | None
    breaker: Breaker


class PlaceHealthView(Answer):
    """The health of an extension at a host, or in a vendor's region."""

    extension: str
    place: str
    health: RouteHealthView


class PlaceHealthList(Answer):
    """The health of every place where something was tried."""

    places: list[PlaceHealthView]


class RouteCandidateView(Answer):
    """A backend at one place, in the order in which it is tried. `fit` is false where `reasons` say
    why it cannot take the sandbox. `host` is empty on a vendor's machines."""

    extension: str
    host: str
    region: str
    fit: bool
    reasons: list[str]
    isolation: IsolationLevel
    self_hosted: bool
    execution_mode: ExecutionMode
    gpus: list[str]
    cost_per_hour: HostCostView | None
    health: RouteHealthView


class RouteNeedView(Answer):
    """The needs of the sandbox that candidates were judged by."""

    isolation: IsolationLevel
    image: str
    closed_network: bool
    cpu: float | None
    memory_mb: int | None
    workspace_mb: int | None


class RouteChoiceView(Answer):
    """The backend and the place that were chosen."""

    extension: str
    host: str
    region: str


class RouteDecisionView(Answer):
    """A decision: what it was made from, and the verdict on every candidate. `only` is the backend
    that the caller named; every one of `limits` holds."""

    strategy: Strategy
    extensions: list[str]
    only: str | None
    allowed: list[list[str]]
    limits: list[RouteConstraintsView]
    need: RouteNeedView
    candidates: list[RouteCandidateView]
    chosen: RouteChoiceView | None


class RouteAttemptView(Answer):
    """A start at one place that ended; `reason` is why it failed, null when it was ready."""

    extension: str
    host: str
    region: str
    at: str
    reason: str | None


class RouteMoveView(Answer):
    """An evacuation that brought the sandbox's files from one host to another."""

    source: str
    target: str
    at: str


class RouteView(RouteDecisionView):
    """The stored decision of a sandbox, and the attempts and the moves since, oldest first."""

    route_id: str
    sandbox_id: str
    at: str
    attempts: list[RouteAttemptView]
    moves: list[RouteMoveView]


class Routes(Area):
    """The routes of sandboxes."""

    tag = "routes"
    needs = "sandbox.read"

    @operation("GET /v1/routes/default", name="get_default_route")
    def default(self) -> DefaultRouteView:
        """Return the rules that hold for the caller's organization."""

    @operation(
        "PUT /v1/routes/default", name="put_default_route", needs="org.manage", problems=(413,)
    )
    def set_default(self, body: RouteRulesBody) -> DefaultRouteView:
        """Replace the rules of the caller's organization, or of the installation."""

    @operation(
        "GET /v1/routes/health",
        name="list_route_health",
        needs="system.manage",
        max_items=MAX_PLACES,
    )
    def health(self) -> PlaceHealthList:
        """Return how backends fared at each place, as routes see it."""

    @operation(
        "POST /v1/routes/explain",
        name="explain_route",
        needs="sandbox.create",
        problems=(404, 409, 413, 429),
    )
    def explain(self, body: ExplainBody) -> RouteDecisionView:
        """Return where a sandbox would go, and why there; nothing is created."""

    @operation("GET /v1/routes/{route}", name="get_route", problems=(404,))
    def get(self, route: ItemId) -> RouteView:
        """Return where a sandbox went, and why there."""
