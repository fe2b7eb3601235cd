"""Requests for the tools of the control plane: each waits until that is there, and is sent once.

A request is sent on a connection that was opened for it: a kept one may lead to a process that is
gone. Until it is open, nothing of the request was sent.
"""

import asyncio
import contextlib
from collections.abc import Callable
from time import time
from typing import Final

from atoll.domain.broker.passage import OwnAnswer, Refusal
from atoll.runtime.doors.broker.exchange import Exchange
from atoll.runtime.doors.broker.outbound import Outbound
from atoll.runtime.doors.broker.route import BrokerRoute
from atoll.runtime.doors.broker.upstream_connections import UpstreamConnections

WAIT_SECONDS: Final = 15.0
"""The longest wait: agents give up on a tool that is slower than half a minute or so."""

RETRY_SECONDS: Final = 0.1

FindRoute = Callable[[Exchange], BrokerRoute | Refusal | OwnAnswer]
"""Returns the route of a request under the policy in force."""


async def send_once_reachable(
    exchange: Exchange, find: FindRoute, connections: UpstreamConnections
) -> None:
    """Open a connection for a request once the control plane listens and the token holds, and send
    it. End the exchange when that takes too long."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            outbound = await _open_connection(exchange, find, connections)
    except TimeoutError:
        message = "Atoll's control plane is away, so this was not sent: call again in a while"
        exchange.fail(Refusal(502, "upstream_unreachable", message))
        return
    if outbound is not None:
        exchange.connected(outbound)
        exchange.asked()


async def _open_connection(
    exchange: Exchange, find: FindRoute, connections: UpstreamConnections
) -> Outbound | None:
    """Return an open connection, None when the exchange has ended meanwhile."""
    while not exchange.ended:
        # A newer policy may bring another token, and another replica's address.
        route = find(exchange)
        if not isinstance(route, BrokerRoute):
            # Without access any more, the broker has ended the exchange.
            return None
        ends_at = route.credential.ends_at
        if ends_at is None or ends_at > time():
            with contextlib.suppress(OSError):
                outbound = await connections.dial(route.passage.origin)
                exchange.route = route
                return outbound
        await asyncio.sleep(RETRY_SECONDS)
    return None
