"""Settings of the HTTP server: where it listens, and the names it answers to."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from atoll.domain.errors import Invalid

MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the HTTP server. Raises `Invalid` for an address that cannot be meant.

    `host`, `port`: where to listen; port 0 takes the last one again, else any.
    `public_url`: the address people use when a proxy runs in front.
    `hosts`: further names the server answers to.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str | None = None
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.port <= MAX_PORT:
            raise Invalid(f"port {self.port} must lie between 0 and {MAX_PORT}", field="port")
        if self.public_url is not None:
            _check_url("public_url", self.public_url)


def _check_url(name: str, url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username:
        raise Invalid(f"{name} must be an http or https URL without credentials", field=name)
