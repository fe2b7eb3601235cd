"""Policies of routes: which backends may take a sandbox, in which order, and under which limits.

The nouns only. A profile has a policy of its own, or takes the default of its organization or of
the installation. A request may narrow it and never widen it.
"""

from dataclasses import dataclass, replace
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.routes.health import Attempt
from atoll.wire.words.routes import MAX_NAMED, ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel

DEFAULT_EXTENSION: Final = "ext.namespaces"
"""The backend that every installation has: the first among equals."""

DESKTOP: Final = "ext.desktop"
"""The name of the backend on people's own machines."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """Limits that a candidate must keep; None is no limit. What is unknown of a candidate does not
    keep a limit.

    - `region`: the candidate's region, or a part of the world it lies in: `eu` holds `eu-1`.
    - `gpu`: a kind of GPU, or `any`.
    - `max_ready_ms`: the measured median from the start of an attempt to a ready sandbox.
    - `min_success`: the measured share of attempts that ended ready, from 0 to 1.
    - `execution_mode`: on the person's own machine, or not.
    """

    max_cost_per_hour: HourlyCost | None = None
    require_isolation: IsolationLevel | None = None
    region: str | None = None
    gpu: str | None = None
    max_ready_ms: int | None = None
    min_success: float | None = None
    execution_mode: ExecutionMode | None = None


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """A policy. `extensions` are the candidates in declared order; none are all that are
    installed. `explicit` names exactly one."""

    strategy: Strategy = Strategy.PREFER_SELF_HOSTED
    extensions: tuple[str, ...] = ()
    constraints: Constraints = Constraints()

    @property
    def takes_desktops(self) -> bool:
        """Report whether people's own machines are candidates: never by themselves."""
        return self.strategy is Strategy.DESKTOP_PREFERRED or DESKTOP in self.extensions


@dataclass(frozen=True, slots=True)
class RouteRules:
    """The rules of an installation or an organization: the policy of profiles that have none, and
    the backends that may be used at all (None: every one)."""

    default: RoutePolicy | None = None
    allow: tuple[str, ...] | None = None


NO_RULES: Final = RouteRules()

BUILT_IN: Final = RoutePolicy()
"""The policy where nobody set another: our own machines first, among all backends that are on."""

BUILT_IN_WITH_DESKTOP: Final = RoutePolicy(Strategy.DESKTOP_PREFERRED)
"""The same for a request that prefers its person's own machine, while that is linked."""


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """The narrower choice of one request. A named `extension` is explicit.

    - `accept_open_network`: its caller agrees to a backend that cannot close its network.
    - `allow`: the backends that it takes at all; none are every one.
    - `prefers_desktop`: its person's own machine comes first while it is linked, where the policy
      takes such machines or nobody set a policy. Without a linked machine it changes nothing.
    - `failed`: starts that failed before; their places are not tried again.
    - `fields`: those of the create and its profile that not every backend acts on.
    """

    strategy: Strategy | None = None
    extension: str | None = None
    constraints: Constraints = Constraints()
    accept_open_network: bool = False
    allow: tuple[str, ...] = ()
    prefers_desktop: bool = False
    failed: tuple[Attempt, ...] = ()
    fields: frozenset[str] = frozenset()


NO_OPTIONS: Final = RouteOptions()


def read_policy(policy: RoutePolicy) -> RoutePolicy:
    """Return a policy that makes sense. Raises `Invalid`."""
    named = policy.extensions
    if len(named) > MAX_NAMED:
        raise Invalid(f"at most {MAX_NAMED} extensions can be named", field="extensions")
    if len(set(named)) != len(named):
        raise Invalid("an extension is named twice", field="extensions")
    if policy.strategy is Strategy.EXPLICIT and len(named) != 1:
        raise Invalid("`explicit` names exactly one extension", field="extensions")
    return policy


def named_backends(
    extensions: tuple[str, ...], fallback: tuple[str, ...], *, field: str
) -> tuple[str, ...]:
    """Return the backends that a policy names by either word. Raises `Invalid` for two lists that
    differ."""
    if extensions and fallback and extensions != fallback:
        raise Invalid("`extensions` and `fallback` are one list: give one of the two", field=field)
    return extensions or fallback


def preferring_desktop(policy: RoutePolicy) -> RoutePolicy:
    """Return a policy with a linked machine first. One that somebody set takes it only where it
    says so."""
    if policy is BUILT_IN:
        return BUILT_IN_WITH_DESKTOP
    if policy.takes_desktops and policy.strategy is not Strategy.EXPLICIT:
        return replace(policy, strategy=Strategy.DESKTOP_PREFERRED)
    return policy


def narrow_policy(policy: RoutePolicy, options: RouteOptions) -> RoutePolicy:
    """Return a policy with the order that a request names. Raises `Invalid` for a strategy that
    would turn an explicit choice into another one."""
    if options.extension is not None:
        if options.strategy not in (None, Strategy.EXPLICIT):
            raise Invalid(
                f"a named extension is the only one that is tried: leave {options.strategy} out",
                field="route.strategy",
            )
        return replace(policy, strategy=Strategy.EXPLICIT)
    if options.strategy is None or options.strategy is policy.strategy:
        return policy
    if policy.strategy is Strategy.EXPLICIT:
        raise Invalid(
            f"the choice of {policy.extensions[0]} is explicit: no other strategy applies",
            field="route.strategy",
        )
    if options.strategy is Strategy.EXPLICIT:
        raise Invalid("`explicit` needs the extension: name it", field="route.extension")
    return replace(policy, strategy=options.strategy)
