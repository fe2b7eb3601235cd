"""Which addresses the host may dial for somebody else: only public ones.

Judges a resolved IP address, never a name: names can resolve to anything, twice
differently (threats fact 8). The caller then dials exactly the judged address.
"""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address, ip_network

_NAT64 = "64:ff9b:"
_METADATA = frozenset({"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"})
"""Where clouds tell a machine its own credentials."""


def is_public(address: str) -> bool:
    """True for a globally routable unicast address; false for loopback, private, link-local,
    metadata, multicast, reserved, and IPv6 forms that carry an IPv4 address (mapped, 6to4,
    Teredo, NAT64). Raises `ValueError` for what is no address."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        carries_v4 = parsed.ipv4_mapped or parsed.sixtofour or parsed.teredo
        if carries_v4 is not None or parsed.compressed.startswith(_NAT64):
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def is_loopback(address: str) -> bool:
    """True for 127.0.0.0/8 and ::1. Raises `ValueError` for what is no address."""
    return ip_address(address).is_loopback


def first_forbidden(
    addresses: Iterable[str], *, loopback: bool = False, ranges: Iterable[str] = ()
) -> str | None:
    """The first of a name's resolved addresses that may not be dialled, None when all may: a
    name that mixes public and other addresses is a trick, so one is enough. `ranges` (CIDR)
    are private ones that somebody listed; link-local and metadata addresses never pass.
    Raises `ValueError` for what is no address or range."""
    listed = [ip_network(one) for one in ranges]
    for address in addresses:
        if is_public(address) or (loopback and is_loopback(address)):
            continue
        parsed = ip_address(address)
        allowed = parsed.is_private and not (parsed.is_link_local or parsed.is_loopback)
        if allowed and address not in _METADATA and any(parsed in one for one in listed):
            continue
        return address
    return None
