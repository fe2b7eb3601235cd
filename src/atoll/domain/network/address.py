"""Addresses that the host may dial for somebody else: only public ones.

Checks a resolved IP address, never a name: a name can resolve to anything, and differently each
time (threats fact 8). The caller then dials exactly the checked address.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_NAT64 = "64:ff9b:"
_SPECIAL = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "240.0.0.0/4",
    "::/128", "::1/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64",
    "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    "5f00::/16", "fc00::/7", "fe80::/10",
    "224.0.0.0/4", "ff00::/8", "fec0::/10",
)  # fmt: skip
"""The IANA special-purpose registries of IPv4 and IPv6 (updated 2025-10-09). Rows within another
row are left out. Rows that are reachable everywhere are included: they lead to the nearest machine.
The last line has multicast and site-local addresses (RFC 3879)."""

_SPECIAL_4 = tuple(IPv4Network(one) for one in _SPECIAL if ":" not in one)
_SPECIAL_6 = tuple(IPv6Network(one) for one in _SPECIAL if ":" in one)
_UNICAST = IPv6Network("2000::/3")
"""The range from which all IPv6 global unicast addresses were assigned (RFC 4291 §2.4)."""
_METADATA = frozenset({"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"})
"""The addresses at which clouds give a machine its own credentials."""


@dataclass(frozen=True, slots=True)
class PrivateReach:
    """The addresses that a gateway in place of a provider may lead to, beside public ones: those of
    the server's own loopback, and private networks."""

    loopback: bool = False
    ranges: tuple[str, ...] = ()


def is_public(address: str) -> bool:
    """Return true for a globally routable unicast address.

    False for loopback, private, link-local, metadata, multicast, reserved, every row of the
    special-purpose registries, and IPv6 forms that carry an IPv4 address (mapped, 6to4, Teredo,
    NAT64). Raises `ValueError` for what is no address.
    """
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        carries_v4 = parsed.ipv4_mapped or parsed.sixtofour or parsed.teredo
        if carries_v4 is not None or parsed.compressed.startswith(_NAT64):
            return False
        if parsed not in _UNICAST or any(parsed in one for one in _SPECIAL_6):
            return False
    elif any(parsed in one for one in _SPECIAL_4):
        return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def is_loopback(address: str) -> bool:
    """Return true for 127.0.0.0/8 and ::1. Raises `ValueError` for what is no address."""
    return ip_address(address).is_loopback


def first_forbidden(
    addresses: Iterable[str], *, loopback: bool = False, ranges: Iterable[str] = ()
) -> str | None:
    """Return the first of a name's resolved addresses that may not be dialled, None when all may.

    One is enough: a name that mixes public and other addresses is a trick. `ranges` (CIDR) are
    private ranges that the owner allowed; link-local and metadata addresses never pass. Raises
    `ValueError` for what is no address or range.
    """
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
