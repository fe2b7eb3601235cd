"""The `extension:` and `route:` sections of a profile document, read strictly and written back."""

import re
from decimal import Decimal

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.hosts.reading import read_cost
from atoll.domain.profile.profile import Profile
from atoll.domain.profile.yaml_fields import Fields, choice, matching, read_number, read_text
from atoll.domain.profile.yaml_tree import Node
from atoll.domain.routes.policy import Constraints, RoutePolicy, named_backends, read_policy
from atoll.wire.words.routes import MAX_READY_MS, ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel

_EXTENSION = re.compile(r"ext\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
EXTENSION_ALIASES = {"ext.in_memory": "ext.in-memory", "ext.vm-packer": "ext.microvm"}
"""Other names of extensions."""

_word = matching(re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}"), "a plain name")


def extension_name(ref: str) -> str:
    """Return the whole name a person means: `namespaces` is `ext.namespaces`. Raises `Invalid`."""
    whole = ref if ref.startswith("ext.") else f"ext.{ref}"
    whole = EXTENSION_ALIASES.get(whole, whole)
    if not _EXTENSION.fullmatch(whole):
        raise Invalid(f"{ref[:80]!r} cannot name an extension.", field="extension")
    return whole


def read_extension(node: Node | None) -> str:
    """Return the extension of a profile, empty when it names none."""
    if node is None:
        return ""
    value = read_text(node)
    try:
        return extension_name(value)
    except Invalid as err:
        raise node.wrong("must be `ext.` and lower-case letters, digits and `-`") from err


def read_route(node: Node | None, extension: str) -> RoutePolicy | None:
    """Return the route of a profile, None when it has none: its extension is the first candidate,
    and `fallback`, or `extensions`, names the others. Raises `Invalid` with line and field."""
    if node is None:
        return None
    part = Fields(node)
    try:
        fallback = named_backends(
            part.items("extensions", read_extension),
            part.items("fallback", read_extension),
            field="route.fallback",
        )
    except Invalid as err:
        raise node.wrong(f"is wrong: {err.message}") from err
    policy = RoutePolicy(
        part.choice("strategy", Strategy.PREFER_SELF_HOSTED),
        (extension, *fallback) if extension else fallback,
        _constraints(part.part("constraints")),
    )
    part.done()
    try:
        return read_policy(policy)
    except Invalid as err:
        raise node.wrong(f"is wrong: {err.message}") from err


def route_document(profile: Profile) -> Json:
    """Return the section as it would be written; None where there is none."""
    policy = profile.route
    if policy is None:
        return None
    limits = policy.constraints
    cost, level = limits.max_cost_per_hour, limits.require_isolation
    mode = limits.execution_mode
    return {
        "strategy": policy.strategy.value,
        "fallback": [name for name in policy.extensions if name != profile.extension],
        "constraints": {
            "max_cost_per_hour": None if cost is None else cost_text(cost),
            "require_isolation": None if level is None else level.value,
            "region": limits.region,
            "gpu": limits.gpu,
            "max_ready_ms": limits.max_ready_ms,
            "min_success": limits.min_success,
            "execution_mode": None if mode is None else mode.value,
        },
    }


def policy_of(profile: Profile, default: RoutePolicy) -> RoutePolicy:
    """Return the policy that a profile's sandboxes are routed by: its own, its extension alone
    (which is explicit), else the default."""
    if profile.route is not None:
        return profile.route
    if profile.extension:
        return RoutePolicy(Strategy.EXPLICIT, (profile.extension,))
    return default


def cost_text(cost: HourlyCost) -> str:
    """Return a price as `read_cost` reads it back: `0.12 USD`."""
    amount = (Decimal(cost.micros) / 1_000_000).normalize()
    return f"{amount:f} {cost.currency}"


def _constraints(part: Fields | None) -> Constraints:
    if part is None:
        return Constraints()
    level, least = part.take("require_isolation"), part.take("min_success")
    mode = part.take("execution_mode")
    found = Constraints(
        max_cost_per_hour=_cost(part.take("max_cost_per_hour")),
        require_isolation=None if level is None else choice(level, IsolationLevel),
        region=_maybe_word(part.take("region")),
        gpu=_maybe_word(part.take("gpu")),
        max_ready_ms=part.whole("max_ready_ms", least=1, most=MAX_READY_MS),
        min_success=None if least is None else read_number(least, least=0, most=1),
        execution_mode=None if mode is None else choice(mode, ExecutionMode),
    )
    part.done()
    return found


def _cost(node: Node | None) -> HourlyCost | None:
    if node is None:
        return None
    value = node.value
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return read_cost(f"{Decimal(str(value)):f}" if plain else read_text(node))
    except Invalid as err:
        raise node.wrong(f"is wrong: {err.message}") from err


def _maybe_word(node: Node | None) -> str | None:
    return None if node is None else _word(node)
