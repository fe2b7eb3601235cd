"""Changes of a living sandbox's network: what its owner allows, denies and switches. Pure.

The network of the sandbox's profile is kept beside the changes.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.network.egress import EgressRule, host_matches, read_ranges
from atoll.domain.network.egress_rule import MAX_RULES, read_pattern, read_rules
from atoll.domain.network.network import Network
from atoll.wire.words.networks import NetworkMode

MAX_DENIED = 200


@dataclass(frozen=True, slots=True)
class NetworkChange:
    """A change that an owner requests; None leaves as it is. `allow` and `deny` are added, `forget`
    removes what was allowed or denied before."""

    mode: NetworkMode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    host_ports: tuple[int, ...] | None = None
    ranges: tuple[str, ...] | None = None


def change_network(network: Network, change: NetworkChange) -> Network:
    """Return the network after the change. Raises `Invalid` with `field`."""
    read_rules(change.allow, origin="owner")
    denied = tuple(read_pattern(text) for text in change.deny)
    forgotten = {*change.forget, *(_normalize_host(text) for text in change.forget)}
    kept = [one for one in network.allowed if one not in forgotten]
    barred = [one for one in network.denied if one not in forgotten]
    # The later request takes precedence: allowing a host ends its denial, and the other way round.
    newly = [rule.host for rule in read_rules(change.allow)]
    if both := [one for one in denied if one in newly]:
        raise Invalid(f"{both[0]} is to be allowed and denied: choose one", field="deny")
    barred = [one for one in barred if one not in newly]
    kept = [one for one in kept if not _about(one, denied)]
    after = replace(
        network,
        mode=change.mode or network.mode,
        allowed=tuple(dict.fromkeys([*kept, *change.allow])),
        denied=tuple(dict.fromkeys([*barred, *denied])),
        host_ports=network.host_ports if change.host_ports is None else change.host_ports,
        ranges=network.ranges if change.ranges is None else _ranges(change.ranges),
    )
    if len(after.allowed) > MAX_RULES or len(after.denied) > MAX_DENIED:
        raise Invalid(f"at most {MAX_RULES} rules can be added to one sandbox", field="allow")
    if after.mode is not NetworkMode.HOST_ONLY:
        for field in ("host_ports", "ranges"):
            if getattr(change, field):
                raise Invalid(
                    f"{field} are reached in mode host-only: this is mode {after.mode}", field=field
                )
    return after


def rules_of(network: Network) -> tuple[EgressRule, ...]:
    """Return all rules, the profile's first.

    A text that is no longer a valid rule (an older Atoll accepted it) allows nothing, and keeps no
    sandbox from starting.
    """
    found: list[EgressRule] = []
    for origin, texts in (("profile", network.egress), ("owner", network.allowed)):
        for text in texts:
            with suppress(Invalid):
                found += read_rules([text], origin=origin)
    return tuple(found)


def event_fields(network: Network) -> dict[str, Json]:
    """Return the payload fields of its event."""
    return {
        "mode": network.mode.value,
        "allowed": [*network.allowed],
        "denied": [*network.denied],
        "host_ports": [*network.host_ports],
        "ranges": [*network.ranges],
    }


def _about(text: str, denied: Sequence[str]) -> bool:
    """Report whether an added rule is only about hosts denied now. A preset stays: it names
    others."""
    rules = read_rules([text])
    return all(any(host_matches(one, rule.host) for one in denied) for rule in rules)


def _normalize_host(text: str) -> str:
    """Return a host pattern in its normal form; other text unchanged."""
    try:
        return read_pattern(text)
    except Invalid:
        return text


def _ranges(texts: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(str(one) for one in read_ranges(texts))
    except ValueError as err:
        raise Invalid(f"{err}: only private ranges can be listed", field="ranges") from err
