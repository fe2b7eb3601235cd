"""The broker door: calls leave the sandbox here, and get their key on the way out.

Served on the listeners that init bound inside and sent out (127.0.0.1 and ::1, port 8082),
so who is calling is known by where the call came in. Each request goes through the same steps
(read, route, admit, judge, dial, answer, pass); `domain.broker.passage` and `domain.broker.answer`
judge, `exchange.Exchange` passes the bytes on, and every request is written down with the step it
reached.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from atoll.domain.broker.allowance import LEAST_RESERVE_MICROS, Allowance, Bounds
from atoll.domain.broker.metering import cut_short, model_of_path, usage_of
from atoll.domain.broker.passage import Refusal
from atoll.domain.broker.price import cost_micros
from atoll.domain.broker.provider import Upstream
from atoll.runtime.doors.approvals.secret_requests import SecretRequests
from atoll.runtime.doors.broker.call_audit import Audit, BrokerCall, CallAudit
from atoll.runtime.doors.broker.credentials import Credentials, read_credentials
from atoll.runtime.doors.broker.exchange import Exchange
from atoll.runtime.doors.broker.inbound import Inbound
from atoll.runtime.doors.broker.request import BrokerRequest, RequestShapes
from atoll.runtime.doors.broker.route import BrokerRoute
from atoll.runtime.doors.broker.route_table import RouteTable
from atoll.runtime.doors.broker.spending import Spending
from atoll.runtime.doors.broker.upstream_connections import AddressRefused, UpstreamConnections
from atoll.runtime.doors.listener.connection_limit import serve
from atoll.runtime.policy.policy import StandingPolicy
from atoll.runtime.tasks import Tasks
from atoll.wire.contract.policy import DoorLimits, Policy
from atoll.wire.http.usage import UsageReader, read_model

SWEEP_SECONDS = 2.0
UPSTREAM_SILENCE_SECONDS = 600.0
CLIENT_IDLE_SECONDS = 75.0


@dataclass(frozen=True, slots=True)
class BrokerParts:
    """Parts of a broker. `floor` are the installation's own keys, beneath the policy's; `places`
    base URLs by provider; `trust` checks certificates; `spent` keeps what providers cost."""

    floor: Mapping[str, Upstream]
    audit: Audit
    trust: ssl.SSLContext
    places: Mapping[str, str] = field(default_factory=dict)
    spent: Path | None = None


class Broker:
    """The broker of one sandbox."""

    def __init__(self, parts: BrokerParts, tasks: Tasks) -> None:
        audit = self._audit = parts.audit
        self._parts = parts
        self._call_audit = CallAudit(audit)
        self._secret_requests = SecretRequests(audit)
        self._tasks = tasks
        self._connections = UpstreamConnections(parts.trust)
        self._spending = Spending(parts.spent)
        self._allowance = Allowance(monotonic(), self._spending.kept)
        self._shapes = RequestShapes()
        self._routes = RouteTable(Credentials(upstreams=parts.floor))
        self._used: set[str] = set()
        self._live: set[Exchange] = set()
        self._crowd: set[Inbound] = set()
        self._busy = asyncio.Event()

    def protocol(self) -> Inbound:
        """Return a new connection from inside."""
        self._busy.set()
        return Inbound(self._begin, self._shapes, self._crowd)

    def apply(self, policy: Policy) -> None:
        """Apply this policy from now on, and cut connections that it no longer allows."""
        self._routes = RouteTable(read_credentials(self._parts.floor, policy, self._parts.places))
        self._allowance.bounds = _read_bounds(policy.limits)
        self._connections.close()
        self._cut_ungranted()

    async def sweep(self) -> None:
        """End silent, idle and no longer allowed connections, for ever. A door that nobody uses
        does not wake its process."""
        while True:
            await self._busy.wait()
            await asyncio.sleep(SWEEP_SECONDS)
            now = monotonic()
            self._connections.sweep(now)
            self._cut_ungranted()
            self._spending.keep(self._allowance.spent)
            self._call_audit.settle()
            for exchange in list(self._live):
                outbound = exchange.outbound
                if outbound and now - outbound.heard_at > UPSTREAM_SILENCE_SECONDS:
                    exchange.answer_lost("it says nothing more")
            for client in list(self._crowd):
                if client.left:
                    client.drop()
                elif client.idle and now - client.idle_since > CLIENT_IDLE_SECONDS:
                    client.expired()
            if not (self._crowd or self._live or self._connections.has_idle):
                self._busy.clear()

    def close(self) -> None:
        """Hang up everywhere."""
        for exchange in list(self._live):
            exchange.cut("closing")
        for client in list(self._crowd):
            client.drop()
        self._connections.close()
        self._spending.keep(self._allowance.spent)
        self._call_audit.settle(last=True)

    def took(self, count: int) -> bool:
        """Count bytes that passed; False when there may be no more."""
        return self._allowance.took(count)

    def over(self, exchange: Exchange) -> None:
        """End an exchange: meter it, write it down, keep its connection."""
        self._live.discard(exchange)
        call = exchange.call
        if exchange.usage is not None and exchange.outbound is not None:
            self._meter(exchange, exchange.usage)
        self._allowance.leave(call.service, call.cost_micros or 0)
        if call.cost_micros and call.service in self._allowance.bounds.spend_micros:
            # Under a cap every cent counts, also when this process is killed.
            self._spending.keep(self._allowance.spent)
        self._call_audit.record(call)
        if exchange.outbound is not None:
            self._connections.put_back(exchange.outbound)

    def _begin(self, request: BrokerRequest, client: Inbound) -> Exchange | Refusal:
        """Perform every step up to dialling, without waiting."""
        call = BrokerCall(request.shape.method)
        route = self._routes.find(request, used=self._used, call=call)
        refusal = route if isinstance(route, Refusal) else self._admit(route, call)
        if refusal is not None:
            call.outcome, call.status = refusal.error, refusal.status
            self._call_audit.record(call)
            self._secret_requests.write(call, refusal)
            return refusal
        assert isinstance(route, BrokerRoute)  # noqa: S101  a refusal was returned above
        exchange = Exchange(route, request, call=call, client=client, owner=self)
        self._dispatch(exchange)
        return exchange

    def _admit(self, route: BrokerRoute, call: BrokerCall) -> Refusal | None:
        call.step = "admit"
        if route.passage.websocket and call.service in self._allowance.bounds.spend_micros:
            message = (
                f"what a WebSocket costs cannot be counted, and {call.service} has a money cap"
            )
            return Refusal(403, "not_metered", message + "; use plain requests")
        met = self._allowance.enter(call.service, monotonic())
        return None if met is None else Refusal(429, "limit_reached", met)

    def _dispatch(self, exchange: Exchange) -> None:
        call, credential, passage = exchange.call, exchange.route.credential, exchange.route.passage
        if credential.once:
            self._used.add(credential.approval_id)
            self._audit("approval.used", {"approval_id": credential.approval_id})
        call.step, call.rule = "dial", passage.rule
        self._live.add(exchange)
        idle = self._connections.take(passage.origin)
        if idle is not None:
            exchange.connected(idle)
        else:
            self._tasks.spawn(self._dial(exchange), "broker dial")

    async def _dial(self, exchange: Exchange) -> None:
        who = exchange.call.service
        try:
            outbound = await self._connections.dial(exchange.route.passage.origin)
        except AddressRefused as error:
            exchange.fail(Refusal(403, "address_refused", str(error)))
        except (OSError, UnicodeError) as error:
            # An error's own text may hold addresses of the host's network.
            message = f"{who} could not be reached: {type(error).__name__}"
            exchange.fail(Refusal(502, "upstream_unreachable", message))
        else:
            exchange.connected(outbound)
            exchange.asked()

    def _meter(self, exchange: Exchange, reader: UsageReader) -> None:
        """Count what an answer cost; one that was refused by the vendor cost nothing."""
        call = exchange.call
        whole = call.outcome == "passed"
        if not 200 <= call.status < 300 and (whole or exchange.answered):
            return
        if (whole and not call.bytes_out) or call.outcome == "upstream_unreachable":
            return
        model = model_of_path(exchange.route.passage.target) or reader.model()
        model = model or read_model(exchange.asked_head)
        usage = usage_of(
            reader.counts(), model=model, bytes_in=call.bytes_in, bytes_out=call.bytes_out
        )
        if not whole:
            seconds = monotonic() - call.started
            usage = cut_short(usage, bytes_in=call.bytes_in, seconds=seconds)
        call.usage, cost = usage, cost_micros(call.service, usage)
        call.cost_micros = cost if whole or cost is None else max(cost, LEAST_RESERVE_MICROS)

    def _cut_ungranted(self) -> None:
        now = time.time()
        for exchange in list(self._live):
            if not self._routes.credentials.covers(exchange.route.credential, now):
                message = "what this request was allowed by was taken back"
                exchange.fail(Refusal(403, "revoked", message))


@asynccontextmanager
async def serve_broker(
    parts: BrokerParts, policy: StandingPolicy, doors: tuple[socket.socket, ...]
) -> AsyncIterator[None]:
    """Serve a broker on these listening sockets by the standing policy, until the end of the block.
    Takes the sockets over and closes them."""
    async with Tasks() as tasks:
        broker = Broker(parts, tasks)
        policy.subscribe(broker.apply)
        tasks.spawn(broker.sweep(), "broker sweep")
        try:
            async with serve(broker.protocol, doors):
                yield
        finally:
            broker.close()


def _read_bounds(limits: DoorLimits) -> Bounds:
    usual = Bounds()
    return Bounds(
        requests_per_minute=limits.requests_per_minute or usual.requests_per_minute,
        concurrent=limits.concurrent or usual.concurrent,
        bytes_per_hour=limits.bytes_per_hour or usual.bytes_per_hour,
        spend_micros=dict(limits.spend_micros),
    )
