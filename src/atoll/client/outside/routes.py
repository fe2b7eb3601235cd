"""Routes over the API: where sandboxes go, why there, and the rules they follow."""

from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.bodies import (
    ConstraintsBody,
    InputsBody,
    Mode,
    MountBody,
    RouteOptionsBody,
)
from atoll.client.fields import Field, Shape
from atoll.client.made.hosts import HostCost
from atoll.client.transport import Transport, get, post, put
from atoll.client.words import IsolationLevel, Strategy

Breaker = Literal["closed", "open", "half-open"]


class RouteHealth(Shape):
    """Health as measured; what was not measured is missing. The rate is in `value`."""

    attempts = fields.number()
    p50_ms = fields.number(-1)
    p95_ms = fields.number(-1)
    breaker: Field[Breaker] = fields.word()

    @property
    def success(self) -> float | None:
        """Return the share of attempts that ended ready."""
        found = self.value.get("success")
        return float(found) if isinstance(found, int | float) else None


class RouteCandidate(Shape):
    """A backend at one place, in the order in which it is tried."""

    extension = fields.text()
    host = fields.text()
    region = fields.text()
    fit = fields.flag()
    reasons = fields.texts()
    isolation: Field[IsolationLevel] = fields.word()
    self_hosted = fields.flag()
    gpus = fields.texts()
    cost_per_hour = fields.one(HostCost)
    health = fields.one(RouteHealth)


class RouteChoice(Shape):
    """The backend and the place that were chosen; empty where none was."""

    extension = fields.text()
    host = fields.text()
    region = fields.text()


class RouteAttempt(Shape):
    """A start at one place that ended; `reason` is empty when it was ready."""

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


class RouteDecision(Shape):
    """A decision, with the verdict on every candidate."""

    strategy: Field[Strategy] = fields.word()
    extensions = fields.texts()
    only = fields.text()
    candidates = fields.many(RouteCandidate)
    chosen = fields.one(RouteChoice)


class Route(RouteDecision):
    """The stored decision of a sandbox, and the attempts and the moves since."""

    route_id = fields.text()
    sandbox_id = fields.text()
    at = fields.text()
    attempts = fields.many(RouteAttempt)
    moves = fields.many(RouteMove)


class RoutePolicy(Shape):
    """A policy: the extensions in declared order, none are all; `fallback` is the same list."""

    strategy: Field[Strategy] = fields.word()
    extensions = fields.texts()
    fallback = fields.texts()


class RouteRules(Shape):
    """The rules of an organization or of the installation."""

    default = fields.one(RoutePolicy)
    allow = fields.texts()


class DefaultRoute(Shape):
    """The rules that hold, and the policy that profiles without one follow."""

    organization = fields.one(RouteRules)
    installation = fields.one(RouteRules)
    effective = fields.one(RoutePolicy)


class PlaceHealth(Shape):
    """The health of an extension at a host, or in a vendor's region."""

    extension = fields.text()
    place = fields.text()
    health = fields.one(RouteHealth)


class PlaceHealthList(Shape):
    """The health of every place where something was tried."""

    places = fields.many(PlaceHealth)


class ExplainBody(TypedDict, total=False):
    """The parts of a request for a sandbox that decide where it goes."""

    profile: str
    profile_version: str | None
    mounts: list[MountBody]
    inputs: InputsBody
    network_mode: Mode | None
    host: str | None
    route: RouteOptionsBody


class RoutePolicyBody(TypedDict, total=False):
    """A policy."""

    strategy: Strategy
    extensions: list[str]
    fallback: list[str]
    constraints: ConstraintsBody


class RouteRulesBody(TypedDict, total=False):
    """Rules that replace those before."""

    scope: Literal["organization", "installation"]
    default: RoutePolicyBody | None
    allow: list[str] | None


class Routes:
    """The routes of sandboxes. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, route: str) -> Route:
        """Return where a sandbox went, and why there."""
        return self._transport.read(Route, get("routes", route))

    def explain(self, body: ExplainBody) -> RouteDecision:
        """Return where a sandbox would go; nothing is created."""
        return self._transport.read(RouteDecision, post("routes", "explain", value=body))

    def default(self) -> DefaultRoute:
        """Return the rules that hold for the caller's organization."""
        return self._transport.read(DefaultRoute, get("routes", "default"))

    def set_default(self, body: RouteRulesBody) -> DefaultRoute:
        """Replace the rules of the caller's organization, or of the installation."""
        return self._transport.read(DefaultRoute, put("routes", "default", value=body))

    def health(self) -> PlaceHealthList:
        """Return how backends fared at each place."""
        return self._transport.read(PlaceHealthList, get("routes", "health"))
