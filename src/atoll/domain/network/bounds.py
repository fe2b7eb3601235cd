"""Bounds on what a sandbox's network may open: of the installation, then of an organization.

Pure. `beyond` names what a network opens past a bound, `restrict_network` returns the part that a
bound leaves. Several bounds hold together: each takes away, none gives.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import ip_network
from typing import Final
from urllib.parse import urlsplit

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.event import Json
from atoll.domain.network.address import PrivateReach, is_loopback, is_public
from atoll.domain.network.egress import (
    FULL_PORTS,
    HOST_NAMES,
    PRIVATE,
    EgressRule,
    Range,
    host_matches,
    is_address,
    is_inside,
    read_ranges,
)
from atoll.domain.network.egress_rule import MAX_RULES, read_rules
from atoll.domain.network.host import canonical_host
from atoll.domain.network.network import Network
from atoll.wire.words.networks import NetworkMode

Span = tuple[int, int]
"""The first and the last port of a span."""

ANY_HOST: Final = "*"
"""The entry of `egress` that stands for every public name."""

MAX_ENTRIES: Final = 64
HIGHEST_PORT: Final = 65535
HTTPS_PORT: Final = 443
HTTP_PORT: Final = 80


@dataclass(frozen=True, slots=True)
class NetworkBounds:
    """The most that a sandbox's network may open; without values nothing but public names.

    `full` lets the mode be `full`, with `ports` beside the usual ones. `host_ports` are ports of
    the server's own loopback, `ranges` private networks: with neither there is no `host-only`.
    `egress` are rules, or `*` for every public name. `open_network` lets a sandbox stand behind a
    wall of another machine that cannot close its network.
    """

    full: bool = False
    host_ports: tuple[Span, ...] = ()
    ranges: tuple[str, ...] = ()
    ports: tuple[Span, ...] = ()
    egress: tuple[str, ...] = (ANY_HOST,)
    open_network: bool = False

    @property
    def host_only(self) -> bool:
        """Report whether the mode `host-only` could reach anything."""
        return bool(self.host_ports or self.ranges)


@dataclass(frozen=True, slots=True)
class Excess:
    """A value of a network that is beyond a bound. `field` is the network's."""

    field: str
    value: str


UNBOUNDED: Final = NetworkBounds(
    full=True,
    host_ports=((1, HIGHEST_PORT),),
    ranges=tuple(str(one) for one in PRIVATE),
    ports=((1, HIGHEST_PORT),),
    open_network=True,
)
"""Everything that a network can open."""

PROFILE_ALONE: Final = NetworkBounds(egress=())
"""Nothing beside what a profile that somebody else wrote opens."""


def beyond(network: Network, bounds: NetworkBounds) -> tuple[Excess, ...]:
    """Return what a network opens past a bound, in the order of its fields."""
    found = []
    if network.mode is NetworkMode.FULL and not bounds.full:
        found.append(Excess("mode", network.mode.value))
    if network.mode is NetworkMode.HOST_ONLY and not bounds.host_only:
        found.append(Excess("mode", network.mode.value))
    inside = restrict_network(network, bounds)
    for field in ("host_ports", "ranges", "ports", "egress", "allowed"):
        left = getattr(inside, field)
        found += [Excess(field, str(one)) for one in getattr(network, field) if one not in left]
    return tuple(found)


def restrict_network(network: Network, bounds: NetworkBounds) -> Network:
    """Return the part of a network that a bound leaves. Of `full` that is `limited`, by the rules;
    `host-only` keeps its mode, since `limited` would open public names."""
    limited = network.mode is NetworkMode.FULL and not bounds.full
    return replace(
        network,
        mode=NetworkMode.LIMITED if limited else network.mode,
        host_ports=tuple(one for one in network.host_ports if _has_port(bounds.host_ports, one)),
        ranges=tuple(one for one in network.ranges if _has_range(bounds.ranges, one)),
        ports=tuple(
            one for one in network.ports if one in FULL_PORTS or _has_port(bounds.ports, one)
        ),
        egress=_keep_permitted(network.egress, bounds.egress),
        allowed=_keep_permitted(network.allowed, bounds.egress),
    )


Withheld = tuple[tuple[Excess, str], ...]
"""Values of a network that are not in force, each with whose bound takes it away."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound, whose it is in words, and how it is raised."""

    bounds: NetworkBounds
    whose: str
    remedy: str


def registry_beyond(registry: str, bounds: NetworkBounds) -> Excess | None:
    """Return the registry of an image where the server, which fetches it, would reach its own
    loopback or a private network that a bound does not open. A name with a dot is judged where it
    resolves; one without is of the server's own hosts file or network, as `ip6-localhost`."""
    named, port = registry_place(registry)
    try:
        host = canonical_host(named.strip("[]"))
    except ValueError:
        return Excess("image", registry)  # such as 127.1, which some resolvers read as an address
    own = host in HOST_NAMES or host.endswith(".localhost") or not {".", ":"} & {*host}
    if own or (is_address(host) and is_loopback(host)):
        return None if _has_port(bounds.host_ports, port) else Excess("image", registry)
    public = not is_address(host) or is_public(host)
    return None if public or _has_range(bounds.ranges, host) else Excess("image", registry)


def check_registry(registry: str, bounds: Iterable[Bound], addresses: Iterable[str] = ()) -> None:
    """Check that an image is fetched from a place that the bounds open: by the registry's name,
    and by the `addresses` that it leads to. Raises `Forbidden`, `network_bound`, with the field."""
    places = (registry, *(_place_of(registry, one) for one in addresses))
    for bound in bounds:
        for place in places:
            if registry_beyond(place, bound.bounds) is not None:
                shown = registry if place == registry else f"{registry} (which leads to {place})"
                raise _make_refusal(Excess("image", shown), "image", bound)


def check_gateway(base_url: str, bounds: Iterable[Bound]) -> None:
    """Check that a gateway, which the broker dials for whoever is inside, stands where the bounds
    open, by its name. Raises `Forbidden`, `network_bound`, with the field."""
    place = _place_of_url(base_url)
    for bound in bounds:
        if registry_beyond(place, bound.bounds) is not None:
            raise _make_refusal(Excess("base_url", base_url), "base_url", bound)


def reach_of(base_url: str, bounds: Sequence[Bound]) -> PrivateReach | None:
    """Return what a gateway's name may lead to; None where nothing is bounded."""
    given = [one.bounds for one in bounds]
    if all(one == UNBOUNDED for one in given):
        return None
    _host, port = registry_place(_place_of_url(base_url))
    ranges = dict.fromkeys(each for one in given for each in one.ranges)
    return PrivateReach(
        all(_has_port(one.host_ports, port) for one in given),
        tuple(each for each in ranges if all(_has_range(one.ranges, each) for one in given)),
    )


def _place_of_url(url: str) -> str:
    """Return the host and port of a URL as a registry is named."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (HTTPS_PORT if parts.scheme == "https" else HTTP_PORT)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def registry_place(registry: str) -> tuple[str, int]:
    """Return the host and the port of a registry."""
    head, _, tail = registry.rpartition(":")
    return (head, int(tail)) if tail.isdigit() else (registry, HTTPS_PORT)


def _place_of(registry: str, address: str) -> str:
    _host, port = registry_place(registry)
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def check_open(bounds: Iterable[Bound]) -> None:
    """Check that a sandbox may stand behind a wall that cannot close its network. Raises
    `Forbidden`, `network_bound`, with the field."""
    for bound in bounds:
        if not bound.bounds.open_network:
            raise _make_refusal(Excess("open_network", "true"), "route.accept_open_network", bound)


def check_within(
    network: Network, bounds: Iterable[Bound], *, before: Network | None = None
) -> None:
    """Check that a network opens nothing past the bounds; what one opened `before` and that is
    beyond them by now is no widening. Raises `Forbidden`, `network_bound`, with the field."""
    for bound in bounds:
        known = () if before is None else beyond(before, bound.bounds)
        for excess in beyond(network, bound.bounds):
            if excess not in known:
                field = "allow" if excess.field == "allowed" else excess.field
                raise _make_refusal(excess, f"network.{field}", bound)


def _make_refusal(excess: Excess, field: str, bound: Bound) -> Forbidden:
    return Forbidden(
        f"{field} {excess.value} is beyond what {bound.whose} lets be opened: {bound.remedy}",
        code="network_bound",
        field=field,
    )


def withheld(network: Network, bounds: Iterable[Bound]) -> Withheld:
    """Return what is in a network and not in force, each with whose bound takes it away."""
    return tuple((excess, one.whose) for one in bounds for excess in beyond(network, one.bounds))


def restrict_to_all(network: Network, bounds: Iterable[Bound]) -> Network:
    """Return the part of a network that all bounds leave."""
    for one in bounds:
        network = restrict_network(network, one.bounds)
    return network


def read_bounds(given: Mapping[str, object], *, field: str) -> NetworkBounds:
    """Return bounds as they are written: `{"full": false, "host_ports": [5432, "8000-8100"],
    "ranges": ["10.1.0.0/16"], "ports": [], "egress": ["preset:pypi", "*.example.com"]}`. What is
    left out opens nothing, but `egress`, which is then `["*"]`. Raises `Invalid`; `field` is the
    name of the whole."""
    known = ("full", "host_ports", "ranges", "ports", "egress", "open_network")
    for name in sorted(given.keys() - set(known)):
        raise _bounds_error(field, name, f"there is none; there are {', '.join(known)}")
    return NetworkBounds(
        _switch(given, field, "full"),
        tuple(_span(one, field, "host_ports") for one in _entries(given, field, "host_ports")),
        _read_ranges(given, field),
        tuple(_span(one, field, "ports") for one in _entries(given, field, "ports")),
        _read_egress(given, field),
        _switch(given, field, "open_network"),
    )


def spelled_bounds(bounds: NetworkBounds) -> dict[str, Json]:
    """Return bounds as `read_bounds` reads them."""
    return {
        "full": bounds.full,
        "host_ports": [_spell_span(one) for one in bounds.host_ports],
        "ranges": [*bounds.ranges],
        "ports": [_spell_span(one) for one in bounds.ports],
        "egress": [*bounds.egress],
        "open_network": bounds.open_network,
    }


def _switch(given: Mapping[str, object], field: str, name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise _bounds_error(field, name, "is true or false")
    return value


def _entries(given: Mapping[str, object], field: str, name: str) -> Sequence[object]:
    found = given.get(name, ())
    if not isinstance(found, list | tuple) or len(found) > max(MAX_ENTRIES, MAX_RULES):
        raise _bounds_error(field, name, f"is a list of at most {MAX_ENTRIES}")
    return found


def _span(value: object, field: str, name: str) -> Span:
    low, _, high = str(value).partition("-")
    plain = not isinstance(value, bool) and low.isascii() and low.isdigit()
    if plain and (high or low).isascii() and (high or low).isdigit() and len(low + high) <= 10:
        span = int(low), int(high or low)
        if 1 <= span[0] <= span[1] <= HIGHEST_PORT:
            return span
    raise _bounds_error(
        field, name, f"lists ports such as 5432 or 8000-8100, not {str(value)[:40]!r}"
    )


def _read_ranges(given: Mapping[str, object], field: str) -> tuple[str, ...]:
    texts = [str(one) for one in _entries(given, field, "ranges")]
    try:
        return tuple(str(one) for one in read_ranges(texts))
    except ValueError as error:
        raise _bounds_error(field, "ranges", f"lists private networks: {error}") from error


def _read_egress(given: Mapping[str, object], field: str) -> tuple[str, ...]:
    if "egress" not in given:
        return (ANY_HOST,)
    texts = [str(one) for one in _entries(given, field, "egress")]
    try:
        read_rules(one for one in texts if one != ANY_HOST)
    except Invalid as error:
        raise _bounds_error(field, "egress", f"lists rules, or `*`: {error.message}") from error
    return tuple(dict.fromkeys(texts))


def _bounds_error(field: str, name: str, why: str) -> Invalid:
    return Invalid(f"{field}.{name} {why}", field=f"{field}.{name}")


def _spell_span(span: Span) -> str:
    return str(span[0]) if span[0] == span[1] else f"{span[0]}-{span[1]}"


def _has_port(spans: tuple[Span, ...], port: int) -> bool:
    return any(low <= port <= high for low, high in spans)


def _has_range(ranges: tuple[str, ...], text: str) -> bool:
    try:
        found = ip_network(text)
    except ValueError:
        return False
    return any(is_inside(found, one) for one in _ranges(ranges))


@cache
def _ranges(texts: tuple[str, ...]) -> tuple[Range, ...]:
    return read_ranges(texts)


def _keep_permitted(texts: tuple[str, ...], permitted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts that are permitted rules; drop a text that is no rule."""
    if ANY_HOST in permitted:
        return texts
    return tuple(one for one in texts if one in permitted or _is_covered(one, permitted))


def _is_covered(text: str, permitted: tuple[str, ...]) -> bool:
    """Report whether the permitted rules cover every rule of a text."""
    with suppress(Invalid):
        most = read_rules(permitted)
        return all(any(_covers_rule(one, rule) for one in most) for rule in read_rules([text]))
    return False


def _covers_rule(most: EgressRule, rule: EgressRule) -> bool:
    """Report whether a permitted rule covers another rule."""
    if most.host != rule.host and (
        rule.host.startswith("*.") or not host_matches(most.host, rule.host)
    ):
        return False
    if not set(rule.ports) <= set(most.ports):
        return False
    if most.methods or most.paths:
        return (most.methods, most.paths) == (rule.methods, rule.paths)
    return True
