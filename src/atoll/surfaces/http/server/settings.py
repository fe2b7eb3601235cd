"""Settings of the HTTP server: where it listens, and the names it answers to."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from atoll.domain.errors import Invalid
from atoll.domain.people.rate_limit import RateLimit
from atoll.domain.previews.origin import read_domain
from atoll.surfaces.http.server.connections.proxies import read_networks
from atoll.surfaces.http.server.internal_access import internal_access

MAX_PORT = 65535
MAX_RATE = 1_000_000


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the HTTP server. Raises `Invalid` for an address that cannot be meant.

    `host`, `port`: where to listen; port 0 takes the last one again, else any.
    `public_url`: the address people use when a proxy runs in front.
    `hosts`: further names the server answers to.
    `tls_cert`, `tls_key`: PEM files of the certificate (its chain, too) and its key; both or none.
    `preview_domain`: the domain below which previews have their names; none is this machine's
    `localhost`.
    `requests_per_minute`: the rate limit of each caller; 0 is none.
    `front_end_ranges`, `front_end_secret_file`: the addresses of a front end that may name the
    principal of a request by headers, and the file with the secret that it sends; both or none.
    `trusted_proxies`: the addresses of proxies in front, whose `X-Forwarded-For` is believed.
    `internal_api_token`: what hosts and trusted services send as `X-Internal-Token`; empty is none.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str | None = None
    hosts: tuple[str, ...] = ()
    tls_cert: str | None = None
    tls_key: str | None = None
    requests_per_minute: int = 0
    front_end_ranges: tuple[str, ...] = ()
    front_end_secret_file: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    preview_domain: str | None = None
    internal_api_token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= MAX_PORT:
            raise Invalid(f"port {self.port} must lie between 0 and {MAX_PORT}", field="port")
        if not 0 <= self.requests_per_minute <= MAX_RATE:
            raise Invalid(
                f"requests_per_minute must lie between 0 and {MAX_RATE}",
                field="requests_per_minute",
            )
        if self.public_url is not None:
            _check_url("public_url", self.public_url)
        if (self.tls_cert is None) != (self.tls_key is None):
            missing = "tls_key" if self.tls_key is None else "tls_cert"
            raise Invalid("TLS needs a certificate and its key: set both", field=missing)
        if self.preview_domain is not None:
            read_domain(self.preview_domain)
        internal_access(self.internal_api_token)
        read_networks(self.front_end_ranges, field="front_end_ranges")
        read_networks(self.trusted_proxies, field="trusted_proxies")
        if bool(self.front_end_ranges) != (self.front_end_secret_file is not None):
            raise Invalid(
                "a front end needs its addresses and a secret: set both",
                field="front_end_secret_file" if self.front_end_ranges else "front_end_ranges",
            )

    @property
    def rate_limit(self) -> RateLimit | None:
        """Return the rate limit of each caller, None where there is none."""
        return RateLimit(self.requests_per_minute) if self.requests_per_minute else None

    @property
    def secure(self) -> bool:
        """True when the server itself speaks TLS."""
        return self.tls_cert is not None


def _check_url(name: str, url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username:
        raise Invalid(f"{name} must be an http or https URL without credentials", field=name)
