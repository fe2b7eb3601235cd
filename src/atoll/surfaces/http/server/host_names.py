"""The names of this server: the hosts it answers to, and the pages that may use it.

A page whose name was pointed at this address, or of another port of this machine, is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from atoll.domain.errors import Forbidden

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Names:
    """The names this server answers to. `hosts` are names without a port (`localhost`, `[::1]`,
    `atoll.example.org`); `origins` whole origins of a proxy in front
    (`https://atoll.example.org`)."""

    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = frozenset()

    def check_host(self, scope: Scope) -> str:
        """Return the name that a connection calls this server by. Raises `Forbidden` (code
        `misdirected`) for one it does not answer to."""
        given = [value for name, value in scope["headers"] if name == b"host"]
        host = given[0].decode("latin-1").lower() if len(given) == 1 else ""
        # A page whose name was re-pointed at this address still sends its own name.
        if without_port(host) not in self.hosts:
            raise Forbidden(
                f"this server does not answer to the name {host[:100]!r}; add it to `hosts` in "
                "config.toml if it should",
                code="misdirected",
            )
        return host

    def check_origin(self, origin: str, host: str) -> None:
        """Check that a page is this server's own, which is called `host`. Raises `Forbidden`."""
        parts = urlsplit(origin) if origin.startswith(("http://", "https://")) else None
        own = parts is not None and parts.netloc.lower() == host and not parts.path
        if not own and origin.lower() not in self.origins:
            raise Forbidden(f"a page of {origin[:100]!r} may not use this server")

    def check_page(self, scope: Scope, headers: Mapping[str, str], *, by_cookie: bool) -> None:
        """Check which page sent a request. Raises `Forbidden`.

        A cookie travels by itself, so a cookie's request must name an origin of this server. A
        token does not, but a WebSocket naming a foreign page is refused.
        """
        origin = headers.get("origin")
        is_socket = scope["type"] == "websocket"
        unsafe = is_socket or scope["method"] not in SAFE_METHODS
        if origin is not None and (is_socket or by_cookie):
            self.check_origin(origin, headers.get("host", "").lower())
        elif origin is None and by_cookie and unsafe:
            raise Forbidden("a browser's request must have an Origin header")
        # Another port of this machine counts as the same site, and its pages get the cookie.
        if by_cookie and headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            raise Forbidden(
                "a page of another origin may not use this server: open the server's own page"
            )


LOOPBACK_NAMES: Final = Names()


def without_port(host: str) -> str:
    """Return the name in a Host header."""
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit() and not name.endswith(":"):
        return name
    return host


def names_for(bound: str, public_url: str | None, hosts: tuple[str, ...]) -> Names:
    """Return the names to answer to: loopback, the bound address when it is one, the public URL's,
    and those configured."""
    own = {host.lower() for host in hosts}
    if bound and bound not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        own.add(f"[{bound}]" if ":" in bound else bound.lower())
    names = Names(LOOPBACK | own)
    if public_url is None:
        return names
    parts = urlsplit(public_url)
    origin = f"{parts.scheme}://{parts.netloc}".lower()
    public = without_port(parts.netloc.lower())
    return replace(names, hosts=names.hosts | {public}, origins=frozenset({origin}))
