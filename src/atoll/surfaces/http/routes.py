"""Routes of routes: the decision of each sandbox, explanations, default rules, and health."""

from atoll.domain.routes.candidate import Need
from atoll.domain.routes.decision import Decision, RouteVerdict
from atoll.domain.routes.policy import (
    RoutePolicy,
    RouteRules,
    named_backends,
)
from atoll.domain.routes.record import RouteRecord
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.services.routes.routing import Rules
from atoll.surfaces.http.sandboxes.requests import inputs_of, limits_of, mounts_of, route_options_of
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.hosts import routes as api
from atoll.wire.api.hosts.routes import Routes
from atoll.wire.words.routes import MAX_PLACES

operations = Operations()


@operations.serves(Routes.default)
async def get_default_route(context: RequestContext) -> api.DefaultRouteView:
    return _rules(await context.atoll.backends.routes.rules(context.caller))


@operations.serves(Routes.set_default)
async def put_default_route(
    context: RequestContext, body: api.RouteRulesBody
) -> api.DefaultRouteView:
    installation = body.scope == "installation"
    found = await context.atoll.backends.routes.put_rules(
        context.caller, _rules_of(body), installation=installation
    )
    return _rules(found)


@operations.serves(Routes.health)
async def list_route_health(context: RequestContext) -> api.PlaceHealthList:
    found = await context.atoll.backends.routes.health()
    places = [answer_of(api.PlaceHealthView, one) for one in found[:MAX_PLACES]]
    return api.PlaceHealthList(places=places)


@operations.serves(Routes.explain)
async def explain_route(context: RequestContext, body: api.ExplainBody) -> api.RouteDecisionView:
    return _decision(await context.atoll.admission.explain(context.caller, _request_of(body)))


@operations.serves(Routes.get)
async def get_route(context: RequestContext, route: str) -> api.RouteView:
    return _record(await context.atoll.backends.routes.get(context.caller, route))


def _rules_of(body: api.RouteRulesBody) -> RouteRules:
    return RouteRules(None if body.default is None else _policy_of(body.default), body.allow)


def _policy_of(body: api.RoutePolicyBody) -> RoutePolicy:
    named = named_backends(body.extensions, body.fallback, field="default.fallback")
    return RoutePolicy(body.strategy, named, limits_of(body.constraints))


def _request_of(body: api.ExplainBody) -> CreateSandbox:
    return CreateSandbox(
        profile=body.profile,
        profile_version=body.profile_version,
        mounts=mounts_of(body.mounts),
        inputs=inputs_of(body.inputs),
        network_mode=body.network_mode,
        host=body.host,
        route=route_options_of(body.route),
    )


def _record(record: RouteRecord) -> api.RouteView:
    facts = _facts(record.decision)
    return answer_of(api.RouteView, record, route_id=record.id, **facts)


def _decision(decision: Decision) -> api.RouteDecisionView:
    return answer_of(api.RouteDecisionView, decision, **_facts(decision))


def _facts(decision: Decision) -> dict[str, object]:
    request = decision.request
    lists = (*request.allowed, request.among) if request.among else request.allowed
    return {
        "strategy": request.strategy,
        "extensions": [*request.extensions],
        "only": request.only,
        "allowed": [[*one] for one in lists],
        "limits": [answer_of(api.RouteConstraintsView, one) for one in request.limits],
        "need": _need(request.need),
        "candidates": [_verdict(one) for one in decision.verdicts],
        "chosen": None
        if decision.chosen is None
        else answer_of(api.RouteChoiceView, decision.chosen),
    }


def _need(need: Need) -> api.RouteNeedView:
    wanted = need.resources
    return answer_of(
        api.RouteNeedView,
        need,
        image=need.image.value,
        cpu=wanted.cpu,
        memory_mb=wanted.memory_mb,
        workspace_mb=wanted.workspace_mb,
    )


def _verdict(verdict: RouteVerdict) -> api.RouteCandidateView:
    candidate = verdict.candidate
    return answer_of(
        api.RouteCandidateView,
        candidate,
        fit=verdict.fit,
        reasons=[*verdict.reasons],
        gpus=sorted(candidate.gpus),
    )


def _rules(rules: Rules) -> api.DefaultRouteView:
    return api.DefaultRouteView(
        organization=_rules_view(rules.organization),
        installation=_rules_view(rules.installation),
        effective=_policy(rules.default),
    )


def _rules_view(rules: RouteRules) -> api.RouteRulesView:
    return api.RouteRulesView(
        default=None if rules.default is None else _policy(rules.default),
        allow=None if rules.allow is None else [*rules.allow],
    )


def _policy(policy: RoutePolicy) -> api.RoutePolicyView:
    named = [*policy.extensions]
    return answer_of(api.RoutePolicyView, policy, extensions=named, fallback=named)
