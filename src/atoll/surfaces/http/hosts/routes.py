"""Routes of routes: the decision of each sandbox, explanations, default rules, and health."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.route.candidate import Candidate, Need
from atoll.domain.route.decision import Decision, RouteVerdict
from atoll.domain.route.health import Breaker
from atoll.domain.route.policy import (
    Constraints,
    ExecutionMode,
    RoutePolicy,
    RouteRules,
    Strategy,
)
from atoll.domain.route.record import RouteRecord
from atoll.domain.wall.isolation import IsolationLevel
from atoll.domain.wall.resources import Resources
from atoll.services.routes.routes import PlaceHealth
from atoll.services.routes.routing import Rules
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.route_body import ExplainBody, HostCostView, RouteRulesBody
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/routes", tags=["routes"], route_class=JsonRoute)

MAX_PLACES = 1000


class RouteConstraintsView(ResponseModel):
    """Limits that a backend must keep; null is no limit."""

    max_cost_per_hour: HostCostView | None
    require_isolation: IsolationLevel | None
    region: str | None
    gpu: str | None
    max_ready_ms: int | None
    min_success: float | None
    execution_mode: ExecutionMode | None


class RoutePolicyView(ResponseModel):
    """A policy: `extensions` in declared order; none are all that are installed. `fallback` is the
    same by the word that profiles have for it."""

    strategy: Strategy
    extensions: list[str]
    fallback: list[str]
    constraints: RouteConstraintsView


class RouteRulesView(ResponseModel):
    """Rules: `default` is null where none was set, `allow` where every backend is allowed."""

    default: RoutePolicyView | None
    allow: list[str] | None


class DefaultRouteView(ResponseModel):
    """The rules of the caller's organization and of the installation, and the policy that profiles
    without one follow by them."""

    organization: RouteRulesView
    installation: RouteRulesView
    effective: RoutePolicyView


class RouteHealthView(ResponseModel):
    """Health as measured in the last day; null while nothing was. `success` is from 0 to 1."""

    attempts: int
    success: float | None
    p50_ms: int | None
    p95_ms: int | None
    breaker: Breaker


class PlaceHealthView(ResponseModel):
    """The health of an extension at a host, or in a vendor's region."""

    extension: str
    place: str
    health: RouteHealthView


class PlaceHealthList(ResponseModel):
    """The health of every place where something was tried."""

    places: list[PlaceHealthView]


class RouteCandidateView(ResponseModel):
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


class RouteNeedView(ResponseModel):
    """The needs of the sandbox that candidates were judged by."""

    isolation: IsolationLevel
    image: str
    closed_network: bool
    cpu: float | None
    memory_mb: int | None
    workspace_mb: int | None


class RouteChoiceView(ResponseModel):
    """The backend and the place that were chosen."""

    extension: str
    host: str
    region: str


class RouteDecisionView(ResponseModel):
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


class RouteAttemptView(ResponseModel):
    """A start at one place that ended; `reason` is why it failed, null when it was ready."""

    extension: str
    host: str
    region: str
    at: str
    reason: str | None


class RouteMoveView(ResponseModel):
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


@router.get("/default", response_model=DefaultRouteView, responses=problems())
@needs(Capability.SANDBOX_READ)
async def get_default_route(atoll: Atoll, caller: Caller) -> Response:
    """Return the rules that hold for the caller's organization."""
    return Json(_rules(await atoll.backends.routes.rules(caller)))


@router.put("/default", response_model=DefaultRouteView, responses=problems(413))
@needs(Capability.ORG_MANAGE)
async def put_default_route(atoll: Atoll, caller: Caller, body: RouteRulesBody) -> Response:
    """Replace the rules of the caller's organization, or of the installation."""
    installation = body.scope == "installation"
    found = await atoll.backends.routes.put_rules(
        caller, body.to_domain(), installation=installation
    )
    return Json(_rules(found))


@router.get(
    "/health",
    response_model=PlaceHealthList,
    responses=problems(),
    openapi_extra=at_most(MAX_PLACES),
)
@needs(Capability.SYSTEM_MANAGE)
async def list_route_health(atoll: Atoll, caller: Caller) -> Response:
    """Return how backends fared at each place, as routes see it."""
    del caller
    found = await atoll.backends.routes.health()
    return Json({"places": [_place(one) for one in found[:MAX_PLACES]]})


@router.post("/explain", response_model=RouteDecisionView, responses=problems(404, 409, 413, 429))
@needs(Capability.SANDBOX_CREATE)
async def explain_route(atoll: Atoll, caller: Caller, body: ExplainBody) -> Response:
    """Return where a sandbox would go, and why there; nothing is created."""
    return Json(_decision(await atoll.backends.routes.explain(caller, body.to_domain())))


@router.get("/{route}", response_model=RouteView, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def get_route(atoll: Atoll, caller: Caller, route: ItemId) -> Response:
    """Return where a sandbox went, and why there."""
    return Json(_record(await atoll.backends.routes.get(caller, route)))


def _record(record: RouteRecord) -> dict[str, Any]:
    attempts = [RouteAttemptView.of(one) for one in record.attempts]
    moves = [RouteMoveView.of(one) for one in record.moves]
    since = {"route_id": record.id, "attempts": attempts, "moves": moves}
    return RouteView.of(record, **since, **_decision(record.decision))


def _decision(decision: Decision) -> dict[str, Any]:
    request, chosen = decision.request, decision.chosen
    lists = (*request.allowed, request.among) if request.among else request.allowed
    return RouteDecisionView.of(
        request,
        extensions=[*request.extensions],
        allowed=[[*one] for one in lists],
        limits=[RouteConstraintsView.of(one) for one in request.limits],
        need=_need(request.need),
        candidates=[_verdict(one) for one in decision.verdicts],
        chosen=None if chosen is None else RouteChoiceView.of(chosen),
    )


def _need(need: Need) -> dict[str, Any]:
    wanted: Resources = need.resources
    return RouteNeedView.of(
        need,
        image=need.image.value,
        cpu=wanted.cpu,
        memory_mb=wanted.memory_mb,
        workspace_mb=wanted.workspace_mb,
    )


def _verdict(verdict: RouteVerdict) -> dict[str, Any]:
    candidate: Candidate = verdict.candidate
    return RouteCandidateView.of(
        candidate, fit=verdict.fit, reasons=[*verdict.reasons], gpus=sorted(candidate.gpus)
    )


def _place(found: PlaceHealth) -> dict[str, Any]:
    return PlaceHealthView.of(found)


def _rules(rules: Rules) -> dict[str, Any]:
    return {
        "organization": _own(rules.organization),
        "installation": _own(rules.installation),
        "effective": _policy(rules.default),
    }


def _own(rules: RouteRules) -> dict[str, Any]:
    return {
        "default": None if rules.default is None else _policy(rules.default),
        "allow": None if rules.allow is None else [*rules.allow],
    }


def _policy(policy: RoutePolicy) -> dict[str, Any]:
    limits: Constraints = policy.constraints
    named = [*policy.extensions]
    return RoutePolicyView.of(
        policy,
        extensions=named,
        fallback=named,
        constraints=RouteConstraintsView.of(limits),
    )
