"""A pool of connections to upstreams: each name is resolved once, checked and dialled as checked.

An origin that a program inside named gets a new connection every time. Other connections stay in
the pool for a few seconds, because a new one costs a TLS handshake.
"""

import asyncio
import ipaddress
import socket
import ssl

from atoll.domain.broker.passage import Origin
from atoll.domain.network.address import first_forbidden, is_loopback
from atoll.runtime.doors.broker.outbound import Outbound
from atoll.runtime.doors.listener.own_address import is_own

CONNECT_SECONDS = 15.0
IDLE_SECONDS = 15.0
MAX_ADDRESSES = 4
MAX_IDLE = 32


class AddressRefused(Exception):
    """A name resolves to an address that may not be dialled."""


class UpstreamConnections:
    """The connection pool of one broker. `trust` checks certificates."""

    def __init__(self, trust: ssl.SSLContext) -> None:
        self._trust = trust
        self._idle: dict[Origin, list[Outbound]] = {}

    @property
    def has_idle(self) -> bool:
        """True when the pool holds an idle connection."""
        return bool(self._idle)

    def take(self, origin: Origin) -> Outbound | None:
        """Remove and return the idle connection that was used last, or None."""
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.usable:
                return connection
        return None

    def put_back(self, connection: Outbound) -> None:
        """Keep a connection for the next request, or close it."""
        idle = self._idle.setdefault(connection.origin, [])
        if connection.origin.named or not connection.usable or len(idle) >= MAX_IDLE:
            connection.close()
            return
        connection.rest()
        idle.append(connection)

    async def dial(self, origin: Origin) -> Outbound:
        """Open a new connection. Raises `AddressRefused`, `OSError` (also as `TimeoutError`)."""
        async with asyncio.timeout(CONNECT_SECONDS):
            addresses = await _resolve(origin)
            if origin.judged:
                refused = first_forbidden(addresses, loopback=origin.loopback, ranges=origin.ranges)
                if refused is not None:
                    raise AddressRefused(f"{origin.host} leads to an address that is not public")
                if any(is_own(address) and not is_loopback(address) for address in addresses):
                    raise AddressRefused(f"{origin.host} leads to an address of this machine")
            return await self._connect_first(origin, addresses[:MAX_ADDRESSES])

    def sweep(self, now: float) -> None:
        """Close connections that were idle for too long."""
        for origin in list(self._idle):
            idle = self._idle[origin]
            fresh = [
                connection
                for connection in idle
                if connection.usable and now - connection.received_at < IDLE_SECONDS
            ]
            for connection in idle:
                if connection not in fresh:
                    connection.close()
            if fresh:
                self._idle[origin] = fresh
            else:
                del self._idle[origin]

    def close(self) -> None:
        """Close all idle connections."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle = {}

    async def _connect_first(self, origin: Origin, addresses: list[str]) -> Outbound:
        secure = self._trust if origin.scheme == "https" else None
        name = origin.host if secure else None
        failed: OSError = OSError("the name has no address")
        for address in addresses:
            try:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Outbound(origin), address, origin.port, ssl=secure, server_hostname=name
                )
            except OSError as error:
                failed = error
            else:
                return connection
        raise failed


async def _resolve(origin: Origin) -> list[str]:
    try:
        return [str(ipaddress.ip_address(origin.host))]
    except ValueError:
        pass
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in addresses))
