"""Which addresses the host may dial for somebody else: only public ones.

Judges a resolved IP address, never a name: names can resolve to anything, twice
differently (threats fact 8). The caller then dials exactly the judged address.
"""

from ipaddress import IPv6Address, ip_address

_NAT64 = "64:ff9b:"


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
