"""The AgentIssuer port: the server of a vendor that logs an agent's person in.

Codes and refresh tokens can be used once. Each error says whether one was used up, so that its
holder never sends it a second time.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from atoll.domain.errors import Unavailable
from atoll.domain.logins.issuer_answers import PollVerdict
from atoll.domain.logins.redirect import BegunRedirect


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A login that waits at the issuer. The person types `user_code` on the page at `page`;
    `device_code` is for polls alone. A `life` or `interval` of None is the usual one."""

    device_code: str = field(repr=False)
    user_code: str
    page: str
    life: timedelta | None = None
    interval: timedelta | None = None


@dataclass(frozen=True, slots=True)
class LoginTokens:
    """The tokens of a login. `life` is the access token's. `account` is the vendor's id of the
    account, empty where it names none."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    life: timedelta
    scopes: tuple[str, ...] = ()
    account: str = ""


class IssuerBusy(Unavailable):
    """An answer that the issuer cannot now. `after` is the time that it asks to wait."""

    default_code = "issuer_busy"

    def __init__(self, message: str, *, after: timedelta | None = None) -> None:
        super().__init__(message)
        self.after = after


class AgentIssuer(Protocol):
    """An issuer. Raises `Unavailable` with code `not_sent` when no connection was made, so nothing
    is used up; `IssuerBusy` when it answers that it cannot now, or says nothing of the token or
    code; `Unavailable` with code `answer_lost` when the request may have arrived and its
    answer did not come or cannot be read; `Forbidden` (code `issuer_refused`) when it refuses. No
    message holds a code or a token, or quotes the issuer."""

    async def begin(self) -> DeviceCode:
        """Begin a login by device code."""
        ...

    async def poll(self, device: DeviceCode) -> LoginTokens | PollVerdict:
        """Return the tokens once the person has confirmed, else the answer's meaning. A poll that
        was not sent or not answered is `PollUnanswered`, not an error. Raises `Unavailable` (code
        `answer_lost`) when the person confirmed and the tokens were lost."""
        ...

    def page_of(self, begun: BegunRedirect) -> str:
        """Return the address at which a person's browser logs in, with the state of `begun` and the
        challenge of its verifier."""
        ...

    async def trade(self, begun: BegunRedirect, code: str) -> LoginTokens:
        """Trade the code of a redirect, once."""
        ...

    async def refresh(self, refresh_token: str) -> LoginTokens:
        """Trade a refresh token, once. The answer always holds the token for the next time."""
        ...

    async def revoke(self, refresh_token: str) -> None:
        """End the login at the issuer. One that has ended already is no error, nor is an issuer
        that cannot revoke."""
        ...
