"""Decisions of the egress door: names first, addresses after. Pure.

`judge` decides on a destination before anybody resolves its name, so that a refused name leaves no
trace in any DNS log. `judge_address` decides on a resolved address, and the door dials exactly that
address. Nothing here resolves, dials or waits.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from atoll.domain.errors import Invalid
from atoll.domain.network.address import is_loopback, is_public
from atoll.wire.words.networks import NetworkMode

Range = IPv4Network | IPv6Network

HOST_NAMES = frozenset({"host.atoll.internal", "localhost", "127.0.0.1", "::1"})
"""The name of the host's own loopback at the door, in `host-only`."""

LOOPBACKS = ("127.0.0.1", "::1")

FULL_PORTS = (80, 443, 22)
"""The ports that mode `full` opens everywhere; a profile's `network.ports` adds to them."""

NEVER: tuple[Range, ...] = tuple(
    ip_network(one)
    for one in (
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::/32",  # EC2 over IPv6
        "fd20:ce::/64",  # Compute Engine over IPv6
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure's wire server: a public address that belongs to the host
        "192.0.0.192/32",  # Oracle Cloud
    )
)
"""Link-local addresses and clouds' metadata services: refused in every mode."""

PRIVATE: tuple[Range, ...] = tuple(
    ip_network(one)
    for one in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
)
"""The ranges from which `ranges` of `host-only` may be chosen."""


@dataclass(frozen=True, slots=True)
class EgressRule:
    """An allowed destination. `host` is canonical, or `*.name` for exactly one more label.
    `methods` and `paths` (prefixes of whole segments) bind plain HTTP; empty allows all. `origin`
    names who wrote the rule: `profile`, `preset:pypi`, `owner`."""

    host: str
    ports: tuple[int, ...] = (443,)
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    origin: str = "profile"


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The policy in force at the door.

    `denied` hosts are refused whatever the rules say; `providers` are the broker's hosts, refused
    with all below them. `host_ports` and `ranges` apply in `host-only`, `ports` in `full`.
    """

    mode: NetworkMode = NetworkMode.LIMITED
    rules: tuple[EgressRule, ...] = ()
    denied: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    host_ports: tuple[int, ...] = ()
    ranges: tuple[Range, ...] = ()
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination that a program inside wants to reach.

    `host` is canonical. `method` and `path` are known for plain HTTP only; None is a tunnel.
    """

    host: str
    port: int
    method: str | None = None
    path: str | None = None

    @property
    def authority(self) -> str:
        """The authority `host:port`, an IPv6 address in brackets."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"{shown}:{self.port}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The destination is allowed. `rule` names what allowed it."""

    rule: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The destination is refused. `code` is stable, `detail` a sentence for a person, and `remedy`
    tells whether the owner could allow it with a rule."""

    code: str
    detail: str
    remedy: bool = False


def judge(policy: EgressPolicy, to: Destination) -> Allowed | Refused:
    """Decide on a name or literal address, before it is resolved."""
    if policy.mode is NetworkMode.NONE:
        return Refused("network_none", "this sandbox's network mode is none")
    if any(to.host == one or to.host.endswith("." + one) for one in policy.providers):
        return Refused(
            "provider_host", f"{to.host} is reached only by the broker, with a key it adds"
        )
    if any(host_matches(one, to.host) for one in policy.denied):
        return Refused("denied", f"{to.host} was denied by the owner", remedy=True)
    match policy.mode:
        case NetworkMode.FULL:
            return _literal(policy, to) or _in_full(policy, to)
        case NetworkMode.HOST_ONLY:
            return _in_host_only(policy, to)
        case NetworkMode.LIMITED:  # pragma: no branch - the cases are all
            if is_address(to.host):
                return Refused("address_literal", f"{to.host} is an address; rules name hosts")
            return _by_rules(policy, to)


def judge_address(policy: EgressPolicy, to: Destination, address: str) -> Refused | None:
    """Decide on an address that `to.host` resolved to; None lets it be dialled."""
    found = ip_address(address)
    if any(found in one for one in NEVER):
        return Refused("address_never", f"{address} is link-local or a metadata service")
    if policy.mode is not NetworkMode.HOST_ONLY:
        if is_public(address):
            return None
        return Refused("address_not_public", f"{to.host} stands for {address}, which is not public")
    if is_loopback(address):
        if to.host in HOST_NAMES and to.port in policy.host_ports:
            return None
        return Refused("address_loopback", f"{to.authority} is this machine, and not allowed")
    if any(found in one for one in policy.ranges):
        return None
    return Refused("address_outside", f"{to.host} stands for {address}, in no allowed range")


def judge_own(policy: EgressPolicy, to: Destination, address: str) -> Refused | None:
    """Decide on an address of this machine that `judge_address` let pass.

    A service that listens there may be meant for its neighbours only, or for nobody.
    """
    host_only = policy.mode is NetworkMode.HOST_ONLY
    if is_loopback(address) or (host_only and to.port in policy.host_ports):
        return None
    return Refused("address_own", f"{to.host} stands for {address}, which is this machine's own")


def host_matches(pattern: str, host: str) -> bool:
    """Report whether a host matches a pattern, label for label; `*.` stands for exactly one
    label."""
    if pattern.startswith("*."):
        label, _, rest = host.partition(".")
        return bool(label) and rest == pattern[2:]
    return host == pattern


def read_ranges(texts: Iterable[str]) -> tuple[Range, ...]:
    """Return private ranges such as `10.1.0.0/16`. Raises `ValueError` for any other."""
    ranges: list[Range] = []
    for text in texts:
        found = ip_network(text)
        if not any(is_inside(found, one) for one in PRIVATE):
            raise ValueError(f"{text} is not a private range")
        ranges.append(found)
    return tuple(ranges)


def is_inside(inner: Range, outer: Range) -> bool:
    """Report whether a network lies in another one."""
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def _literal(policy: EgressPolicy, to: Destination) -> Refused | None:
    return judge_address(policy, to, to.host) if is_address(to.host) else None


def is_address(host: str) -> bool:
    """Report whether a host is an address, not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _in_full(policy: EgressPolicy, to: Destination) -> Allowed | Refused:
    if to.port in (*FULL_PORTS, *policy.ports):
        return Allowed("mode full")
    by_rule = _by_rules(policy, to)
    if isinstance(by_rule, Allowed):
        return by_rule
    detail = f"port {to.port} is none that mode full opens"
    return Refused("port_not_listed", detail, remedy=not is_address(to.host))


def _in_host_only(policy: EgressPolicy, to: Destination) -> Allowed | Refused:
    if to.host in HOST_NAMES:
        if to.port in policy.host_ports:
            return Allowed(f"host port {to.port}")
        return Refused("host_port", f"port {to.port} of this machine was not allowed")
    if is_address(to.host):
        return judge_address(policy, to, to.host) or Allowed("range")
    return _by_rules(policy, to)


def _by_rules(policy: EgressPolicy, to: Destination) -> Allowed | Refused:
    if to.host in HOST_NAMES:
        return Refused("host_port", f"{to.host} is this machine; only mode host-only reaches it")
    named = [rule for rule in policy.rules if host_matches(rule.host, to.host)]
    if not named:
        return Refused("not_listed", f"no rule allows {to.host}", remedy=True)
    here = [rule for rule in named if to.port in rule.ports]
    if not here:
        return Refused(
            "port_not_listed", f"no rule allows port {to.port} of {to.host}", remedy=True
        )
    for rule in here:
        if to.method is None or _request_fits(rule, to.method, to.path or "/"):
            return Allowed(f"{rule.origin} {rule.host}")
    return Refused("request_not_listed", f"no rule allows {to.method} {to.path} there", remedy=True)


def _request_fits(rule: EgressRule, method: str, path: str) -> bool:
    if rule.methods and method not in rule.methods:
        return False
    plain = path.partition("?")[0]
    if not rule.paths:
        return True
    # A server may fold `..`, `//` and escapes, and so leave the prefix.
    if any(trick in plain.lower() for trick in ("/.", "//", "%2e", "%2f", "%5c", "%25", "\\", ";")):
        return False
    return any(plain == one or plain.startswith(one.rstrip("/") + "/") for one in rule.paths)


def check_private(ranges: tuple[str, ...], *, field: str) -> None:
    """Check that a setting lists private networks alone. Raises `Invalid` with the field."""
    for text in ranges:
        try:
            found = ip_network(text)
        except ValueError:
            found = None
        if found is None or not any(
            found.version == one.version and found.subnet_of(one)  # type: ignore[arg-type]
            for one in PRIVATE
        ):
            raise Invalid(
                f"{field} lists private networks such as 10.1.0.0/16, not {text[:60]!r}",
                field=field,
            )
