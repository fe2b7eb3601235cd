"""The front end that may name the principal of a request, by headers that it sets itself.

It is trusted where it connects from one of its addresses and knows the secret. Where one is
configured, these headers are refused from everybody else: to ignore them would serve a request as
somebody other than it says.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.types import Scope

from atoll.domain.errors import Forbidden, Invalid, Unauthenticated
from atoll.domain.people.front_end import SECRET, NamedPrincipal, names_principal, read_principal
from atoll.surfaces.http.server.connections.proxies import PEER, Network, is_among, read_networks

MIN_SECRET = 32
MAX_SECRET = 1024


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A trusted front end: the networks it connects from, and the secret that it sends."""

    networks: tuple[Network, ...]
    secret: bytes

    def principal(self, scope: Scope) -> NamedPrincipal | None:
        """Return the principal that the front end names; None where no header names one. Raises
        `Forbidden` for such a header from elsewhere, and `Unauthenticated` for one that is
        ambiguous, or that comes beside another credential."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if not names_principal(headers):
            return None
        if not self._trusts(scope, headers):
            raise Forbidden(
                "only the configured front end may name a principal: leave the header out",
                code="untrusted_front_end",
            )
        if "authorization" in headers:
            raise Unauthenticated("send a principal's header or Authorization, not both")
        return read_principal(headers)

    def _trusts(self, scope: Scope, headers: Mapping[str, list[str]]) -> bool:
        """Report whether a connection is the front end's. The address is that of the connection
        itself: no header changes it."""
        sent = headers.get(SECRET, [])
        knows = len(sent) == 1 and hmac.compare_digest(sent[0].encode("latin-1"), self.secret)
        client = scope.get("client")
        peer = scope.get("extensions", {}).get(PEER) or (client and client[0])
        return knows and bool(peer) and is_among(str(peer), self.networks)


def front_end(ranges: tuple[str, ...], secret_file: str | None) -> FrontEnd | None:
    """Return the front end of the settings, None where there is none. Raises `Invalid` for a
    secret that cannot be read, is short, or that other users can read."""
    if secret_file is None:
        return None
    path, field = Path(secret_file), "front_end_secret_file"
    try:
        secret, mode = path.read_bytes().strip(), path.stat().st_mode
    except OSError as error:
        raise Invalid(f"{field} cannot be read: {error.strerror}", field=field) from error
    if mode & 0o007:
        raise Invalid(f"{field} can be read by every user: chmod 600 {path}", field=field)
    if not MIN_SECRET <= len(secret) <= MAX_SECRET or not secret.isascii():
        raise Invalid(
            f"{field} must hold {MIN_SECRET} to {MAX_SECRET} characters: openssl rand -hex 32",
            field=field,
        )
    return FrontEnd(read_networks(ranges, field="front_end_ranges"), secret)
