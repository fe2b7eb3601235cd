"""Addresses that requests for somebody else may dial: resolved once, checked, and then fixed.

A name may resolve to anything, and differently the second time. So a connection dials exactly the
addresses that were checked here, and one bad address among them refuses the name.
"""

import asyncio
import socket
from dataclasses import dataclass
from ipaddress import ip_address

from aiohttp.abc import AbstractResolver, ResolveResult

from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.network.address import first_forbidden, is_public
from atoll.domain.network.egress import NEVER

RESOLVE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Reach:
    """The addresses that may be dialled: public ones, this machine's own with `loopback`, and
    private `ranges` (CIDR). Link-local addresses and clouds' metadata services never are."""

    loopback: bool = False
    ranges: tuple[str, ...] = ()
    public: bool = True


class CheckedResolver(AbstractResolver):
    """Resolver of checked addresses only; the connection dials exactly those."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the host's addresses. Raises `Forbidden`, `Unavailable`."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await look_up_allowed(host, port, self._reach)
        ]

    async def close(self) -> None:
        """Do nothing: it holds nothing."""


async def look_up_allowed(host: str, port: int, reach: Reach) -> tuple[str, ...]:
    """Return the addresses of a host. Raises `Forbidden` when one may not be dialled, `Unavailable`
    when the host does not resolve."""
    addresses = await look_up(host, port)
    _check(host, addresses, reach)
    return addresses


async def look_up(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a host, whatever they are. Raises `Unavailable` when it does not
    resolve."""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )
    except (OSError, UnicodeError, TimeoutError) as error:
        raise Unavailable(
            f"{host} cannot be resolved: check the name and the network, then try again."
        ) from error
    return tuple(dict.fromkeys(str(entry[4][0]).split("%")[0] for entry in found))


def _check(host: str, addresses: tuple[str, ...], reach: Reach) -> None:
    # Some clouds' metadata services have public addresses.
    metadata = (one for one in addresses if any(ip_address(one) in net for net in NEVER))
    bad = first_forbidden(addresses, loopback=reach.loopback, ranges=reach.ranges)
    bad = bad or next(metadata, None)
    if bad is not None:
        raise Forbidden(
            f"{host} leads to {bad}, which is not a public address: nothing is sent there."
        )
    public = next((one for one in addresses if is_public(one)), None)
    if public is not None and not reach.public:
        raise Forbidden(f"{host} leads to {public}, a public address: use https:// there.")
