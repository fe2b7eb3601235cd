"""Settings of the bus between replicas."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

import msgspec

from atoll.domain.errors import Invalid

MAX_SERVERS = 16
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,32}(\.[A-Za-z0-9_-]{1,32}){0,3}\Z")


@dataclass(frozen=True, slots=True)
class BusSettings:
    """Settings of the bus. Raises `Invalid` for an address, prefix or file that cannot be meant.

    `bus_url`: NATS servers, `nats://` or `tls://`, several of a cluster parted by commas; None
    keeps the bus within this process. It may hold a user and a password.
    `bus_prefix`: the first words of every subject.
    `bus_credentials`: a `.creds` file of NATS.
    `bus_tls_ca`, `bus_tls_cert`, `bus_tls_key`: PEM files; naming the first makes TLS required.
    `bus_days`, `bus_mb`: how long, and how much, the stream keeps; 0 does not bound it.
    `bus_window_seconds`: the time in which the stream itself recognises a repeated event.
    `bus_copies`: the servers of a cluster that keep the stream.
    """

    bus_url: str | None = field(default=None, repr=False)
    bus_prefix: str = "atoll"
    bus_credentials: str | None = None
    bus_tls_ca: str | None = None
    bus_tls_cert: str | None = None
    bus_tls_key: str | None = None
    bus_days: Annotated[int, msgspec.Meta(ge=0, le=3650)] = 7
    bus_mb: Annotated[int, msgspec.Meta(ge=0, le=1024 * 1024)] = 1024
    bus_window_seconds: Annotated[int, msgspec.Meta(ge=1, le=86400)] = 120
    bus_copies: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1

    def __post_init__(self) -> None:
        if self.bus_url is not None:
            _check_url(self.bus_url)
        if not _PREFIX.match(self.bus_prefix):
            raise Invalid(
                "bus_prefix is one to four words of letters, digits, - and _, parted by dots",
                field="bus_prefix",
            )
        if self.bus_days and self.bus_window_seconds > self.bus_days * 86400:
            raise Invalid("bus_window_seconds is longer than bus_days", field="bus_window_seconds")
        if (self.bus_tls_cert is None) != (self.bus_tls_key is None):
            raise Invalid("bus_tls_cert and bus_tls_key go together", field="bus_tls_key")

    @property
    def servers(self) -> tuple[str, ...]:
        """Return the addresses of the servers, with the secrets in them."""
        return tuple(one.strip() for one in (self.bus_url or "").split(",") if one.strip())

    @property
    def shown(self) -> str:
        """Return the addresses as people and logs may see them."""
        return ", ".join(f"{one.scheme}://{_place(one)}" for one in map(urlsplit, self.servers))

    @property
    def requires_tls(self) -> bool:
        """Return whether a connection without TLS is refused."""
        return self.bus_tls_ca is not None or any(one.startswith("tls:") for one in self.servers)

    @property
    def open_hosts(self) -> tuple[str, ...]:
        """Return the hosts elsewhere to which keys and events would go in the clear."""
        return () if self.requires_tls else tuple(_elsewhere(self.servers))

    @property
    def stream(self) -> str:
        """Return the name of the stream of JetStream."""
        return f"{self.bus_prefix.replace('.', '_').upper()}_EVENTS"


def _check_url(url: str) -> None:
    servers = [urlsplit(one.strip()) for one in url.split(",")]
    if not url.isprintable() or len(servers) > MAX_SERVERS or not all(map(_is_server, servers)):
        # Not the address itself: it may hold a password.
        raise Invalid(
            "bus_url is nats://host:4222 or tls://host:4222, several parted by commas",
            field="bus_url",
        )


def _is_server(server: SplitResult) -> bool:
    try:
        port = server.port
    except ValueError:
        return False
    nothing_else = not (server.path.strip("/") or server.query or server.fragment)
    return server.scheme in ("nats", "tls") and bool(server.hostname) and nothing_else and port != 0


def _place(server: SplitResult) -> str:
    return server.netloc.rpartition("@")[2]


def _elsewhere(servers: tuple[str, ...]) -> Iterator[str]:
    hosts = (urlsplit(one).hostname or "" for one in servers)
    return (host for host in hosts if host not in LOOPBACK)
