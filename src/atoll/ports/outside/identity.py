"""The IdentityProvider port: logins of people at a provider that speaks OpenID Connect.

Whom the answers make a member of what is decided elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from atoll.domain.errors import Unavailable
from atoll.domain.event import Json
from atoll.domain.people.person import PendingLogin
from atoll.domain.people.realm import Realm


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """Verified claims of a person, and what the provider gives for later: the token by which they
    are read again, and the one that names the login at a log-out; empty where it gave none. `after`
    is the time that a provider asks to wait which renewed a token and gave no claims."""

    claims: Mapping[str, Json]
    refresh_token: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)
    after: timedelta | None = None


class ProviderBusy(Unavailable):
    """An answer that the provider cannot now. `after` is the time that it asks to wait."""

    default_code = "provider_busy"

    def __init__(self, message: str, *, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class IdentityProvider(Protocol):
    """The providers of all realms. Raises `ProviderBusy` when one answers that it cannot now,
    `Unavailable` when it does not answer in time or answers nonsense, and `Unauthenticated` (code
    `login_refused`) when it says no or what it says is not proven. No message quotes a provider's
    text."""

    async def begin(self, realm: Realm, begun: PendingLogin) -> str:
        """Return the address at the provider where the person logs in."""
        ...

    async def finish(self, realm: Realm, begun: PendingLogin, code: str) -> ProviderAnswer:
        """Trade the code of a finished login for claims."""
        ...

    async def refresh(self, realm: Realm, refresh_token: str, subject: str) -> ProviderAnswer:
        """Read the claims of this subject again; there are none in an answer of a provider that
        renewed the token and cannot say now whose it is. Raises `Forbidden` (code `grant_revoked`)
        when the provider has ended the login."""
        ...

    async def end_url(self, realm: Realm, id_token: str, back: str) -> str | None:
        """Return the address that logs the person out at the provider and leads to `back`; None
        where it offers none, or cannot be reached now."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
