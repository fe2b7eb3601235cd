"""Client of an issuer: this installation."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from atoll.domain.people.realm import is_safe_url


@dataclass(frozen=True, slots=True)
class IssuerClient:
    """Client of an issuer: its id and scopes, by which this installation logs in. Raises
    `ValueError` for an address that is neither https nor this machine's."""

    issuer: str
    client_id: str
    scopes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not is_safe_url(self.issuer, plain=True) or urlsplit(self.issuer).query:
            raise ValueError("an issuer is https://…, or http:// on this machine")

    def at(self, path: str) -> str:
        """Return the address of an endpoint."""
        return f"{self.issuer.rstrip('/')}{path}"

    @property
    def host(self) -> str:
        """Return the name for messages."""
        return urlsplit(self.issuer).hostname or ""
