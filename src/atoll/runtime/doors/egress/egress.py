"""The egress door: an HTTP proxy for allowed destinations, which explains every refusal.

The listeners were bound inside by init and sent out (127.0.0.1 and ::1, port 3128), so the listener
identifies the calling sandbox. `domain.network.egress` decides. This module holds the policy, dials
checked addresses, tracks open calls and writes the audit. `call` serves one caller.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from atoll.domain.broker.audit_budget import AuditBudget
from atoll.domain.broker.provider import LOGIN_PROVIDERS, PROVIDERS
from atoll.domain.network.egress import (
    HOST_NAMES,
    LOOPBACKS,
    Allowed,
    Destination,
    EgressPolicy,
    EgressRule,
    Range,
    Refused,
    judge,
    judge_address,
    judge_own,
    read_ranges,
)
from atoll.domain.network.host import canonical_host
from atoll.domain.network.volume import HourlyBytes
from atoll.runtime.doors.egress.pipe import Side
from atoll.runtime.doors.listener.connection_limit import Door, serve
from atoll.runtime.doors.listener.own_address import is_own
from atoll.runtime.tasks import Tasks
from atoll.wire.contract.policy import Network, Policy
from atoll.wire.words.networks import NetworkMode

Audit = Callable[[str, Mapping[str, object]], object]
"""A sink of audit entries: a kind and a payload without bodies, paths and header values."""

Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
JudgeAddress = Callable[[EgressPolicy, Destination, str], Refused | None]

CONNECT_SECONDS = 15.0
ADDRESS_SECONDS = 6.0
MAX_ADDRESSES = 4
BUFFER_BYTES = 32 * 1024


class Unreachable(Exception):
    """An allowed destination did not answer."""


class Blocked(Exception):
    """The policy does not allow a destination. Carries the verdict."""

    def __init__(self, verdict: Refused) -> None:
        super().__init__(verdict.detail)
        self.verdict = verdict


@dataclass(slots=True, eq=False)
class OpenCall:
    """Open call. `address` is the dialled address; `cut` ends the call at once."""

    to: Destination
    address: str
    cut: Callable[[Refused], None]


class Egress:
    """The egress door of one sandbox. Tests replace `resolve` and `judge_address`."""

    def __init__(
        self,
        sandbox_id: str,
        audit: Audit,
        *,
        resolve: Resolve | None = None,
        judge_address: JudgeAddress = judge_address,
    ) -> None:
        self.sandbox_id = sandbox_id
        self.policy = EgressPolicy()
        self._audit = audit
        self._resolve = resolve or resolve_host
        self._judge_address = judge_address
        self._budget = AuditBudget(monotonic())
        self._out = HourlyBytes(None, monotonic())
        self._in = HourlyBytes(None, monotonic())
        self._open: set[OpenCall] = set()

    def apply(self, policy: Policy) -> None:
        """Apply a new policy. Open calls that it no longer allows are cut at once."""
        self.policy = _read_policy(policy)
        now = monotonic()
        self._out.limit(policy.network.bytes_out_per_hour, now)
        self._in.limit(policy.network.bytes_in_per_hour, now)
        for call in tuple(self._open):
            verdict = self._judge_again(call.to, call.address)
            if verdict is not None:
                call.cut(verdict)

    def admit(self, to: Destination) -> Allowed:
        """Judge a name before it is resolved. Raises `Blocked`."""
        verdict = judge(self.policy, to)
        if isinstance(verdict, Refused):
            raise Blocked(verdict)
        return verdict

    async def dial(self, to: Destination) -> tuple[str, Side]:
        """Open a connection to an address that was checked. Raises `Blocked` when any of the
        name's addresses is refused, `Unreachable`."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                addresses = await self._addresses(to)
                for address in addresses:
                    verdict = self._judge_dialled(to, address)
                    if verdict is not None:
                        raise Blocked(verdict)
                return await _connect_first(addresses[:MAX_ADDRESSES], to.port)
        except (OSError, UnicodeError) as err:  # TimeoutError is an OSError
            raise Unreachable(f"{to.authority} could not be reached") from err

    def hold(self, call: OpenCall) -> None:
        """Track an open call. Raises `Blocked` when a new policy, applied during the dial, forbids
        the call."""
        verdict = self._judge_again(call.to, call.address)
        if verdict is not None:
            raise Blocked(verdict)
        self._open.add(call)

    def release(self, call: OpenCall) -> None:
        """Forget a closed call."""
        self._open.discard(call)

    def spend(self, *, out: int = 0, back: int = 0) -> bool:
        """Count bytes. Returns False when this hour's limit is reached."""
        now = monotonic()
        return self._out.spend(out, now) and self._in.spend(back, now)

    def record(self, kind: str, payload: Mapping[str, object]) -> None:
        """Write an audit entry: passed calls within the budget, and every refusal, because the
        audit merges refusals."""
        if kind == "door.refused":
            self._audit(kind, {"door": "egress", **payload})
            return
        unrecorded = self._budget.take(monotonic())
        if unrecorded is not None:
            more = {"unrecorded": unrecorded} if unrecorded else {}
            self._audit(kind, {"door": "egress", **more, **payload})

    def remedy(self, to: Destination, verdict: Refused) -> str:
        """Return the command by which the owner can allow it; empty when no rule can."""
        if not verdict.remedy:
            return ""
        spelled = to.authority.removesuffix(":443")
        if to.method is not None:
            spelled = f"http://{to.authority.removesuffix(':80')}"
        return f"atoll net allow {self.sandbox_id} {spelled}"

    def _judge_again(self, to: Destination, address: str) -> Refused | None:
        verdict = judge(self.policy, to)
        if isinstance(verdict, Refused):
            return verdict
        return self._judge_dialled(to, address)

    def _judge_dialled(self, to: Destination, address: str) -> Refused | None:
        verdict = self._judge_address(self.policy, to, address)
        if verdict is None and is_own(address):
            return judge_own(self.policy, to, address)
        return verdict

    async def _addresses(self, to: Destination) -> tuple[str, ...]:
        if to.host in ("127.0.0.1", "::1") or _is_literal(to.host):
            return (to.host,)
        if to.host in HOST_NAMES:
            return LOOPBACKS
        return await self._resolve(to.host, to.port)


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Return the addresses of a name in the order to dial them. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(where[0]) for *_, where in addresses))


CallHandler = Callable[
    [Egress, asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]
]


@asynccontextmanager
async def serve_egress(
    egress: Egress, doors: tuple[Door, ...], handle_call: CallHandler
) -> AsyncIterator[None]:
    """Serve the proxy on these doors until the end of the block, then close them and all open
    calls."""
    async with Tasks() as tasks:

        def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.spawn(handle_call(egress, reader, writer), "egress")

        def protocol() -> asyncio.Protocol:
            reader = asyncio.StreamReader(limit=BUFFER_BYTES)
            return asyncio.StreamReaderProtocol(reader, handle)

        async with serve(protocol, doors):
            yield


async def _connect_first(addresses: tuple[str, ...], port: int) -> tuple[str, Side]:
    last: OSError = OSError("the name has no address")
    for address in addresses:
        try:
            async with asyncio.timeout(ADDRESS_SECONDS):
                reader, writer = await asyncio.open_connection(address, port, limit=BUFFER_BYTES)
        except OSError as err:
            last = err
            continue
        return address, (reader, writer)
    raise last


def _is_literal(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdigit()


def _read_policy(policy: Policy) -> EgressPolicy:
    network = policy.network
    return EgressPolicy(
        mode=NetworkMode(network.mode),
        rules=tuple(
            EgressRule(rule.host, rule.ports, rule.methods, rule.paths, rule.origin)
            for rule in network.rules
        ),
        denied=network.denied,
        providers=_list_provider_hosts(policy),
        host_ports=network.host_ports,
        ranges=_read_ranges(network),
        ports=network.ports,
    )


def _read_ranges(network: Network) -> tuple[Range, ...]:
    try:
        return read_ranges(network.ranges)
    except ValueError:
        return ()  # a range that may not be listed allows nothing


def _list_provider_hosts(policy: Policy) -> tuple[str, ...]:
    """Return the broker's hosts. Calls with a foreign key must not bypass the broker."""
    urls = [provider.upstream for provider in PROVIDERS.values()]
    urls += [key.base_url for key in policy.providers if key.base_url]
    lent = {login.provider for login in policy.logins}
    urls += [provider.upstream for name, provider in LOGIN_PROVIDERS.items() if name in lent]
    hosts = {_read_host(url) for url in urls}
    return tuple(sorted(host for host in hosts if host is not None and host not in HOST_NAMES))


def _read_host(url: str) -> str | None:
    try:
        return canonical_host(urlsplit(url).hostname or "")
    except ValueError:
        return None
