"""The decision of a route: every candidate with its verdict, and the one that is taken.

Pure and deterministic: the same request and the same candidates, in whatever order, give the same
decision. A decision holds what it was made from, so it can be made again to the same result.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from atoll.domain.errors import NoRoute, RejectedPlace
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.routes.candidate import (
    NO_NEED,
    Candidate,
    Need,
    ailing,
    breaches,
    find_shortfalls,
)
from atoll.domain.routes.health import Attempt
from atoll.domain.routes.policy import DEFAULT_EXTENSION, Constraints
from atoll.wire.words.routes import ExecutionMode, Strategy

_UNKNOWN = float("inf")


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """A request for a route.

    - `extensions`: the candidates in declared order; none are all.
    - `only`: the one that the caller named, among these.
    - `allowed`: lists of backends that the organization and the installation allow.
    - `among`: the backends that the caller takes at all; none are every one.
    - `limits`: every one of them holds.
    - `host`: the one that the caller named.
    - `desktops`: the policy takes people's own machines.
    - `failed`: starts that failed before, at places that are not tried again.
    - `takes_ailing`: nobody set a policy, so a place that failed lately is tried where it is the
      only one.
    """

    strategy: Strategy
    need: Need = NO_NEED
    extensions: tuple[str, ...] = ()
    only: str | None = None
    allowed: tuple[tuple[str, ...], ...] = ()
    limits: tuple[Constraints, ...] = ()
    host: str | None = None
    desktops: bool = False
    among: tuple[str, ...] = ()
    failed: tuple[Attempt, ...] = ()
    takes_ailing: bool = False


@dataclass(frozen=True, slots=True)
class RouteVerdict:
    """A candidate, and why it cannot take the sandbox; without a reason it can."""

    candidate: Candidate
    reasons: tuple[str, ...] = ()

    @property
    def fit(self) -> bool:
        """Report whether it can."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision. The verdicts are in the order in which the candidates are tried: those that fit
    first."""

    request: RouteRequest
    verdicts: tuple[RouteVerdict, ...]

    @property
    def fit(self) -> tuple[Candidate, ...]:
        """The candidates that can take the sandbox, in order."""
        return tuple(one.candidate for one in self.verdicts if one.fit)

    @property
    def chosen(self) -> Candidate | None:
        """The first of them; None when there is none."""
        fit = self.fit
        return fit[0] if fit else None

    @property
    def explicit(self) -> bool:
        """Report whether somebody chose the backend by name: it is never routed elsewhere."""
        return self.request.strategy is Strategy.EXPLICIT


def decide(request: RouteRequest, candidates: Iterable[Candidate]) -> Decision:
    """Return the decision for a request. Hard limits first: no strategy takes a candidate that
    breaks one."""
    judged = [RouteVerdict(one, tuple(_objections(request, one))) for one in candidates]
    if request.strategy is not Strategy.EXPLICIT:
        judged = _leave_out_ailing(judged, spare=request.takes_ailing)
    currency = _currency(request)
    return Decision(
        request,
        tuple(
            sorted(judged, key=lambda one: (not one.fit, *_rank(request, one.candidate, currency)))
        ),
    )


def decide_again(decision: Decision) -> Decision:
    """Return the decision as made from its own inputs: the same, unless the rules changed."""
    return decide(decision.request, (one.candidate for one in decision.verdicts))


def _objections(request: RouteRequest, candidate: Candidate) -> Iterable[str]:
    yield from _exclusions(request, candidate)
    if candidate.unavailable:
        # What is unknown of it would be told as if it lacked that.
        yield candidate.unavailable
        return
    yield from candidate.obstacles
    yield from find_shortfalls(candidate, request.need)
    seen: set[str] = set()
    for limits in request.limits:
        for why in breaches(candidate, limits):
            if why not in seen:
                seen.add(why)
                yield why


def _leave_out_ailing(judged: list[RouteVerdict], *, spare: bool) -> list[RouteVerdict]:
    """Return the verdicts with what ails a candidate. With `spare` they stay fit where every fit
    one ails: one that failed lately is better than none."""
    if spare and not any(one.fit and not any(ailing(one.candidate)) for one in judged):
        return judged
    return [replace(one, reasons=(*one.reasons, *ailing(one.candidate))) for one in judged]


def _exclusions(request: RouteRequest, candidate: Candidate) -> Iterable[str]:
    """Yield why a candidate is none of those that were asked for."""
    name = candidate.extension
    if request.extensions and name not in request.extensions:
        yield "the route does not name it"
    if request.only is not None and name != request.only:
        yield f"{request.only} was asked for"
    if candidate.execution_mode is ExecutionMode.DESKTOP and not request.desktops:
        yield "the policy does not take people's own machines"
    if any(name not in allowed for allowed in request.allowed):
        yield "it is not allowed here"
    if request.among and name not in request.among:
        yield "the request does not allow it"
    here = (name, candidate.host, candidate.rented_in)
    for one in request.failed:
        if (one.extension, one.host, one.region) == here:
            yield f"it was tried: {one.reason}"


def _currency(request: RouteRequest) -> str:
    """Return the currency in which prices are compared: that of the first limit, else USD."""
    limits = (one.max_cost_per_hour for one in request.limits)
    return next((one.currency for one in limits if one is not None), HourlyCost(0).currency)


def _rank(
    request: RouteRequest, candidate: Candidate, currency: str
) -> tuple[float, int, int, str, str, str]:
    named = request.extensions
    name = candidate.extension
    unnamed = len(named) + (name != DEFAULT_EXTENSION)
    declared = named.index(name) if name in named else unnamed
    first = _preference(request.strategy, candidate, currency)
    return first, declared, candidate.order, name, candidate.host, candidate.region


def _preference(strategy: Strategy, candidate: Candidate, currency: str) -> float:
    match strategy:
        case Strategy.DESKTOP_PREFERRED:
            own = candidate.execution_mode is ExecutionMode.DESKTOP
            return 0.0 if own else 1.0 + (not candidate.self_hosted)
        case Strategy.PREFER_SELF_HOSTED:
            return float(not candidate.self_hosted)
        case Strategy.LOWEST_COST:
            price = candidate.cost_per_hour
            known = price is not None and price.currency == currency
            return float(price.micros) if price is not None and known else _UNKNOWN
        case Strategy.LOWEST_LATENCY:
            median = candidate.health.p50_ms
            return _UNKNOWN if median is None else float(median)
        case Strategy.EXPLICIT:  # pragma: no branch - the cases are all
            return 0.0


def refusal(decision: Decision) -> str:
    """Return the sentence for a sandbox that no candidate takes, with the reasons of each, and what
    to do where somebody named a backend that the route does not."""
    if not decision.verdicts:
        return "no backend is there that could take this sandbox"
    told = "; ".join(
        f"{place(one.candidate)}: {', '.join(one.reasons)}" for one in decision.verdicts
    )
    only, named = decision.request.only, decision.request.extensions
    advice = ""
    if only is not None and named and only not in named:
        advice = (
            "; a choice narrows the route and never widens it: take a profile whose extension is "
            f"{only}"
        )
    return f"no backend takes this sandbox ({told}){advice}"


def no_route(decision: Decision, *, field: str = "route") -> NoRoute:
    """Return the error for a sandbox that no candidate takes, whatever the cause. `field` is the
    part of the request that chose among them."""
    places = tuple(
        RejectedPlace(
            one.candidate.extension, one.candidate.host, one.candidate.region, one.reasons
        )
        for one in decision.verdicts
    )
    return NoRoute(refusal(decision), field=field, candidates=places)


def place(candidate: Candidate) -> str:
    """Return what people call a candidate: `ext.ssh on box`."""
    if candidate.host:
        return f"{candidate.extension} on {candidate.host}"
    return (
        f"{candidate.extension} in {candidate.region}" if candidate.region else candidate.extension
    )
