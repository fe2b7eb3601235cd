"""The broker door: an HTTP proxy that adds credentials to calls on their way out.

The listeners were bound inside by init and sent out (127.0.0.1 and ::1, port 8082), so the listener
identifies the calling sandbox. Each request goes through the same steps: read, route, judge, admit,
dial, answer, pass. `call_audit.Step` lists them, `Broker._begin` runs the steps up to the dial, and
`exchange.Exchange` runs the others. The audit names the step that a request reached.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from atoll.domain.broker.allowance import Allowance, Bounds, LeasedMoney
from atoll.domain.broker.control_plane import TOOLS
from atoll.domain.broker.passage import OwnAnswer, Refusal
from atoll.domain.broker.provider import Upstream
from atoll.runtime.doors.broker.call_audit import Audit, BrokerCall, CallAudit
from atoll.runtime.doors.broker.credentials import Credentials, read_credentials
from atoll.runtime.doors.broker.exchange import Exchange, Requester
from atoll.runtime.doors.broker.inbound import Inbound, RequestHandler
from atoll.runtime.doors.broker.login_renewals import LoginRenewals, is_late, is_renewed
from atoll.runtime.doors.broker.metering import meter
from atoll.runtime.doors.broker.push_gate import RefusedPush
from atoll.runtime.doors.broker.request import BrokerRequest, RequestShapes
from atoll.runtime.doors.broker.route import BrokerRoute
from atoll.runtime.doors.broker.route_table import RouteTable
from atoll.runtime.doors.broker.secret_requests import SecretRequests
from atoll.runtime.doors.broker.spending import Spending
from atoll.runtime.doors.broker.tools.service import ToolService
from atoll.runtime.doors.broker.tools.tool_requests import send_once_reachable
from atoll.runtime.doors.broker.upstream_connections import AddressRefused, UpstreamConnections
from atoll.runtime.doors.listener.connection_limit import Door, serve
from atoll.runtime.policy.policy import StandingPolicy
from atoll.runtime.tasks import Tasks
from atoll.wire.contract.policy import Policy
from atoll.wire.git.receive_pack import NOTHING_HELD, HeldRefs, Update

SWEEP_SECONDS = 2.0
UPSTREAM_SILENCE_SECONDS = 600.0
CLIENT_IDLE_SECONDS = 75.0


HoldPush = Callable[[str, tuple[Update, ...]], Awaitable[HeldRefs]]
"""Hold refs of a refused push to the remote at a path. Raises nothing."""


@dataclass(frozen=True, slots=True)
class BrokerParts:
    """The fixed inputs of a broker. `floor` are the installation's own keys, which a policy may
    override; `places` are base URLs by provider; `trust` checks certificates; `spent` is the file
    of the amounts spent; `hold` takes pushes that may not go out."""

    floor: Mapping[str, Upstream]
    audit: Audit
    trust: ssl.SSLContext
    places: Mapping[str, str] = field(default_factory=dict)
    spent: Path | None = None
    hold: HoldPush | None = None


class Broker:
    """The broker of one sandbox."""

    def __init__(self, parts: BrokerParts, tasks: Tasks) -> None:
        audit = self._audit = parts.audit
        self._parts = parts
        self._call_audit = CallAudit(audit)
        self._secret_requests = SecretRequests(audit)
        self._renewals = LoginRenewals(audit)
        self._tasks = tasks
        self._tools = ToolService(self._begin, tasks.spawn)
        self._connections = UpstreamConnections(parts.trust)
        self._spending = Spending(parts.spent)
        self._allowance = Allowance(monotonic(), self._spending.kept)
        self.take = self._allowance.took
        self._shapes = RequestShapes()
        self._routes = RouteTable(Credentials(upstreams=parts.floor))
        self._used: set[str] = set()
        self._live: set[Exchange] = set()
        self._clients: set[Inbound] = set()
        self._busy = asyncio.Event()

    def make_protocol(self) -> Inbound:
        """Return the protocol of a new connection."""
        self._busy.set()
        return Inbound(self._receive, self._shapes, self._clients)

    def apply(self, policy: Policy) -> None:
        """Apply a new policy. Exchanges whose credential it no longer grants are ended."""
        self._routes = RouteTable(read_credentials(self._parts.floor, policy, self._parts.places))
        self._allowance.apply(_read_bounds(policy))
        self._connections.close()
        self._cut_ungranted()
        for exchange in self._renewals.take_renewed(self._routes.credentials.logins):
            self._repeat(exchange)

    async def sweep(self) -> None:
        """End silent, idle and forbidden connections, for ever. An unused door does not wake its
        process."""
        while True:
            await self._busy.wait()
            await asyncio.sleep(SWEEP_SECONDS)
            now = monotonic()
            self._connections.sweep(now)
            self._cut_ungranted()
            self._spending.keep(self._allowance.spent)
            self._call_audit.settle()
            self._end_overdue(now)
            for client in list(self._clients):
                if client.abandoned:
                    client.drop()
                elif client.idle and now - client.idle_since > CLIENT_IDLE_SECONDS:
                    client.expire()
            if not (self._clients or self._live or self._connections.has_idle):
                self._busy.clear()

    def _end_overdue(self, now: float) -> None:
        for exchange in self._renewals.take_expired():
            exchange.fail(_not_renewed(exchange))
        for exchange in list(self._live):
            outbound = exchange.outbound
            if outbound and now - outbound.received_at > UPSTREAM_SILENCE_SECONDS:
                exchange.answer_lost("it says nothing more")

    def close(self) -> None:
        """Close all connections."""
        self._tools.close()
        for exchange in list(self._live):
            exchange.cut("closing")
        for client in list(self._clients):
            client.drop()
        self._connections.close()
        self._spending.keep(self._allowance.spent)
        self._spending.close()
        self._call_audit.settle(last=True)

    def hold(self, exchange: Exchange, push: RefusedPush) -> None:
        """Hold what may be held of a refused push, and report it to whoever pushed."""
        if self._parts.hold is None or not push.holdable:
            exchange.pushed(push, NOTHING_HELD)
        else:
            self._tasks.spawn(self._hold(exchange, push, self._parts.hold), "held push")

    async def _hold(self, exchange: Exchange, push: RefusedPush, hold: HoldPush) -> None:
        exchange.pushed(push, await hold(push.path, push.holdable))

    def renew(self, exchange: Exchange) -> None:
        """Repeat a request whose token the vendor refused, now or once a policy has a newer one."""
        if is_renewed(exchange, self._routes.credentials.logins) and not is_late(exchange):
            self._repeat(exchange)
        else:
            self._renewals.wait(exchange)

    def _repeat(self, exchange: Exchange) -> None:
        route = self._routes.find(exchange.request, used=self._used, call=exchange.call)
        if isinstance(route, BrokerRoute):
            exchange.repeat(route)
            self._dial(exchange)
            exchange.asked()
        else:
            exchange.fail(route if isinstance(route, Refusal) else _not_renewed(exchange))

    def finish(self, exchange: Exchange) -> None:
        """Meter and record an ended exchange, and keep its connection."""
        self._live.discard(exchange)
        self._renewals.forget(exchange)
        call = exchange.call
        meter(exchange)
        self._allowance.leave(call.service, call.cost_micros or 0)
        if call.cost_micros and self._allowance.bounds.counts(call.service):
            # Under a cap no amount may be lost, even if this process is killed.
            self._spending.keep(self._allowance.spent)
        self._call_audit.record(call)
        outbound = exchange.outbound
        if outbound is not None and exchange.route.credential.kind == "tools":
            outbound.close()
        elif outbound is not None:
            self._connections.put_back(outbound)

    def _receive(
        self, request: BrokerRequest, client: Inbound
    ) -> RequestHandler | Refusal | OwnAnswer:
        """Begin to handle the request of a client."""
        offered = self._routes.credentials.tools is not None
        handler = self._tools.handler(request, client) if offered else None
        if isinstance(handler, Refusal):
            return self._refuse(BrokerCall(request.shape.method, TOOLS.name, step="admit"), handler)
        return handler or self._begin(request, client)

    def _begin(self, request: BrokerRequest, client: Requester) -> Exchange | Refusal | OwnAnswer:
        """Run the steps up to the dial, in order and without an await in between."""
        call = BrokerCall(request.shape.method)
        route = self._routes.find(request, used=self._used, call=call)
        if isinstance(route, Refusal):
            return self._refuse(call, route)
        if isinstance(route, OwnAnswer):
            return self._answer(call, route)
        refusal = self._admit(route, call)
        if refusal is not None:
            return self._refuse(call, refusal)
        exchange = Exchange(route, request, call=call, client=client, owner=self)
        self._dial(exchange)
        return exchange

    def _answer(self, call: BrokerCall, answer: OwnAnswer) -> OwnAnswer | Refusal:
        call.step = "admit"
        met = self._allowance.enter(call.service, monotonic())
        if met is not None:
            return self._refuse(call, Refusal(429, "limit_reached", met))
        self._allowance.leave(call.service, 0)
        call.step, call.outcome, call.status = "answer", "answered", 200
        self._call_audit.record(call)
        return answer

    def _refuse(self, call: BrokerCall, refusal: Refusal) -> Refusal:
        call.outcome, call.status = refusal.error, refusal.status
        self._call_audit.record(call)
        self._secret_requests.write(call, refusal)
        return refusal

    def _admit(self, route: BrokerRoute, call: BrokerCall) -> Refusal | None:
        call.step = "admit"
        if route.passage.websocket and self._allowance.bounds.counts(call.service):
            message = (
                f"what a WebSocket costs cannot be counted, and {call.service} has a money cap"
            )
            return Refusal(403, "not_metered", message + "; use plain requests")
        met = self._allowance.enter(call.service, monotonic())
        return None if met is None else Refusal(429, "limit_reached", met)

    def _dial(self, exchange: Exchange) -> None:
        call, credential, passage = exchange.call, exchange.route.credential, exchange.route.passage
        if credential.once:
            self._used.add(credential.approval_id)
            self._audit("approval.used", {"approval_id": credential.approval_id})
        call.step, call.rule = "dial", passage.rule
        self._live.add(exchange)
        if credential.kind == "tools":
            waiting = send_once_reachable(exchange, self._route_again, self._connections)
            self._tasks.spawn(waiting, "tool request")
            return
        idle = self._connections.take(passage.origin)
        if idle is not None:
            exchange.connected(idle)
        else:
            self._tasks.spawn(self._open_connection(exchange), "broker dial")

    def _route_again(self, exchange: Exchange) -> BrokerRoute | Refusal | OwnAnswer:
        route = self._routes.find(exchange.request, used=self._used, call=exchange.call)
        exchange.call.step = "dial"
        return route

    async def _open_connection(self, exchange: Exchange) -> None:
        service = exchange.call.service
        try:
            outbound = await self._connections.dial(exchange.route.passage.origin)
        except AddressRefused as error:
            exchange.fail(Refusal(403, "address_refused", str(error)))
        except (OSError, UnicodeError) as error:
            # An error's own text may hold addresses of the host's network.
            message = f"{service} could not be reached: {type(error).__name__}"
            exchange.fail(Refusal(502, "upstream_unreachable", message))
        else:
            exchange.connected(outbound)
            exchange.asked()

    def _cut_ungranted(self) -> None:
        now = time.time()
        for exchange in list(self._live):
            if not self._routes.credentials.covers(exchange.route.credential, now):
                message = "what this request was allowed by was taken back"
                exchange.fail(Refusal(403, "revoked", message))


@asynccontextmanager
async def serve_broker(
    parts: BrokerParts, policy: StandingPolicy, doors: tuple[Door, ...]
) -> AsyncIterator[None]:
    """Serve a broker under the standing policy on these doors until the end of the
    block, then close them."""
    async with Tasks() as tasks:
        broker = Broker(parts, tasks)
        policy.subscribe(broker.apply)
        tasks.spawn(broker.sweep(), "broker sweep")
        try:
            async with serve(broker.make_protocol, doors):
                yield
        finally:
            broker.close()


def _not_renewed(exchange: Exchange) -> Refusal:
    message = (
        f"{exchange.call.service} refused the login, and it was not renewed in time: "
        "`atoll agent logins` shows its owner why"
    )
    return Refusal(401, "login_not_renewed", message)


def _read_bounds(policy: Policy) -> Bounds:
    usual, limits = Bounds(), policy.limits
    return Bounds(
        requests_per_minute=limits.requests_per_minute or usual.requests_per_minute,
        concurrent=limits.concurrent or usual.concurrent,
        bytes_per_hour=limits.bytes_per_hour or usual.bytes_per_hour,
        spend_micros=dict(limits.spend_micros),
        leases=tuple(
            LeasedMoney(lease.lease_id, lease.micros, lease.refusal) for lease in policy.leases
        ),
    )
