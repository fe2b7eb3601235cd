"""Trusted proxies: the addresses whose `X-Forwarded-For` names the client of a request.

Everybody else may write what they like into that header, so it is read from these alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from atoll.domain.errors import Invalid

Network = IPv4Network | IPv6Network

PEER: Final = "atoll.peer"
"""The ASGI extension with the address of the proxy; `client` is the one that it names."""

MAX_HOPS: Final = 32
_HEADER: Final = b"x-forwarded-for"


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The networks of the proxies in front of this server."""

    networks: tuple[Network, ...] = ()

    def holds(self, address: str) -> bool:
        """Report whether a connection from this address is a trusted proxy's."""
        return is_among(address, self.networks)

    def client_of(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        """Return the client that the headers of a proxy's request name: the last address that is
        no proxy's. None where they name none."""
        values = [value.decode("latin-1") for name, value in headers if name == _HEADER]
        client = None
        for hop in reversed(",".join(values).rsplit(",", MAX_HOPS)[-MAX_HOPS:]):
            try:
                client = str(ip_address(hop.strip()))
            except ValueError:
                return None
            if not self.holds(client):
                return client
        return client


def is_among(address: str, networks: Iterable[Network]) -> bool:
    """Report whether an address is in one of these networks; an IPv4-mapped one is its IPv4 one.
    Text that is no address is in none."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


def read_networks(ranges: tuple[str, ...], *, field: str) -> tuple[Network, ...]:
    """Return the networks that a setting names. Raises `Invalid`, also for one that is
    everybody."""
    try:
        found = tuple(ip_network(one) for one in ranges)
    except ValueError as error:
        raise Invalid(f"{field}: {error}", field=field) from error
    if any(network.prefixlen == 0 for network in found):
        raise Invalid(f"{field} must not be every address", field=field)
    return found
