"""A broker door on a loopback port, with keys and a policy of the test's own."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.broker.provider import PROVIDERS, Upstream
from atoll.runtime.doors.broker.broker import BrokerParts, serve_broker
from atoll.runtime.policy.policy import StandingPolicy
from atoll.wire.contract.policy import Policy

KEY = "sk-canary-0123456789abcdef"
TRUST = ssl.create_default_context()


@dataclass
class Door:
    """Where it listens, what it lives by, what it wrote down; `news` has each kind as it comes."""

    port: int
    policy: StandingPolicy
    journal: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    news: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def write(self, kind: str, said: Mapping[str, object]) -> None:
        """Into the journal."""
        self.journal.append((kind, said))
        self.news.put_nowait(kind)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def audit(self) -> list[Mapping[str, object]]:
        """The requests it wrote down."""
        return self.said("door.request")

    def said(self, kind: str) -> list[Mapping[str, object]]:
        """Everything of one kind."""
        return [payload for one, payload in self.journal if one == kind]


@asynccontextmanager
async def broker_door(
    upstreams: Mapping[str, str] | None = None,
    policy: Policy | None = None,
    *,
    key: str = KEY,
    trust: ssl.SSLContext = TRUST,
    spent: Path | None = None,
    places: Mapping[str, str] | None = None,
) -> AsyncIterator[Door]:
    """A door with `key` for each provider of `upstreams` (base URLs by name), which keeps what they
    cost in `spent`. `places` are base URLs for what a policy grants."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    standing = StandingPolicy()
    if policy is not None:
        standing.replace(policy)
    door = Door(listener.getsockname()[1], standing)
    floor = {name: Upstream(PROVIDERS[name], url, key) for name, url in (upstreams or {}).items()}
    parts = BrokerParts(floor, door.write, trust, places or {}, spent)
    async with serve_broker(parts, standing, (listener,)):
        yield door
