"""A login of an agent at its vendor: its state, what can happen to it, and what is to be done.

No value here holds a code or a token: `domain.logins.lifecycle.step` decides from times and states
alone, and whoever performs its commands keeps the secrets.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NewType, TypeAlias

from atoll.domain.ids import OrgId, PrincipalId, SecretId
from atoll.wire.words.agents import LoginMethod, LoginState

AgentLoginId = NewType("AgentLoginId", str)

POLL_INTERVAL: Final = timedelta(seconds=5)
"""The time between polls where the issuer names none (RFC 8628 §3.5)."""

SLOW_DOWN: Final = timedelta(seconds=5)
"""The addition to the time between polls for each `slow_down` (RFC 8628 §3.5)."""

MAX_INTERVAL: Final = timedelta(minutes=1)
REQUEST_LIFE: Final = timedelta(minutes=15)
"""The time for which a person may confirm, where the issuer names none or a longer one."""

ANSWER_TIME: Final = timedelta(seconds=25)
"""The time in which an issuer answers a request that uses up a code or a token; longer than any
request lasts. One of a process that is gone is over then."""

EARLY: Final = timedelta(minutes=5)
"""The usual time before the end of an access token at which it is refreshed; at most half of the
token's life."""

RETRY: Final = timedelta(seconds=1)
"""The time after which a refresh that the issuer put off is tried again; it doubles each time."""

MAX_RETRY: Final = timedelta(minutes=1)
MAX_ASKED: Final = timedelta(hours=1)
"""The bound on a time that an issuer asks to wait."""

RESEND: Final = timedelta(seconds=5)
"""The least time after which a refresh whose answer was lost is sent once more. Issuers that
forgive a lost answer do so for about half a minute."""

MAX_LOGINS: Final = 20
"""The bound on the open logins of one person."""


NAMED_LOGIN: Final = "login_alg_"
"""The beginning of the names of secrets of logins; the rest of the login's id follows."""


OPEN: Final = frozenset({LoginState.REQUESTED, LoginState.PENDING, LoginState.READY})


@dataclass(frozen=True, slots=True)
class AgentLogin:
    """A login of an agent.

    `ends_at` is the end of a request that waits for its person. `next_at` is the time of the next
    poll, or of the next refresh; None where nothing is due by time. `sent_at` is the time at which
    a code or refresh token was sent that can be used once, while its answer has not come. `version`
    counts the tokens received. `expires_at` is the end of the access token; None for an API key.
    `tries` counts the refreshes since then that brought none. With `resent` the answer to one of
    them was lost. `reason` is why it ended, or why its last refresh brought nothing.
    """

    method: LoginMethod
    state: LoginState = LoginState.REQUESTED
    reason: str = ""
    interval: timedelta = POLL_INTERVAL
    ends_at: datetime | None = None
    next_at: datetime | None = None
    sent_at: datetime | None = None
    version: int = 0
    expires_at: datetime | None = None
    resent: bool = False
    tries: int = 0

    @property
    def is_open(self) -> bool:
        """Report whether this login can still change."""
        return self.state in OPEN


@dataclass(frozen=True, slots=True)
class AgentLoginRecord:
    """A login of an agent as it is stored and shown; its codes and tokens are the value of one
    secret of the vault, which `token_ref` names.

    `page` and `user_code` are for its person while the login waits. `account` is the vendor's id of
    the account. `in_use` is false until its owner turns it on: a plan must allow to be used so.
    `provider` is that of a key. `exposed_to` are the scopes of sandboxes without doors that get the
    access token itself: its owner's explicit exception.
    """

    id: AgentLoginId
    org_id: OrgId
    owner: PrincipalId
    agent: str
    token_ref: SecretId
    created_at: datetime
    login: AgentLogin
    page: str = ""
    user_code: str = ""
    scopes: tuple[str, ...] = ()
    account: str = ""
    in_use: bool = False
    provider: str = ""
    exposed_to: tuple[str, ...] = ()
    ended_at: datetime | None = None

    @property
    def needs_login(self) -> bool:
        """Report whether its person has to log in again: it was in use, and it broke."""
        broke = self.login.state is LoginState.FAILED and self.login.version > 0
        return broke and self.in_use

    def excludes(self, other: "AgentLoginRecord") -> bool:
        """Report whether only one of the two can be on: keys for two providers go together."""
        apart = self.provider and other.provider and self.provider != other.provider
        return self.agent == other.agent and not apart

    @property
    def secret_name(self) -> str:
        """Return the name of its secret in the vault, and in the list of what is inside."""
        return f"login_{self.id}"


@dataclass(frozen=True, slots=True)
class Opened:
    """The issuer named a page and a code, or the address for a browser was made. A `life` or
    `interval` of None is the usual one."""

    life: timedelta | None = None
    interval: timedelta | None = None


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Time has passed; nothing else happened."""


@dataclass(frozen=True, slots=True)
class StillPending:
    """The issuer answered a poll: the person has not confirmed yet."""


@dataclass(frozen=True, slots=True)
class SlowDown:
    """The issuer answered a poll: too fast."""


@dataclass(frozen=True, slots=True)
class PollUnanswered:
    """A poll had no answer in time, or none that can be read (RFC 8628 §3.5)."""


@dataclass(frozen=True, slots=True)
class CodePasted:
    """The person pasted the address that a browser was sent back to, and it is of this login."""


@dataclass(frozen=True, slots=True)
class TokensCame:
    """Tokens came for the first time, or by a refresh. A `life` of None has no end; `early` is the
    time before the end at which they are refreshed."""

    life: timedelta | None = None
    early: timedelta = EARLY


@dataclass(frozen=True, slots=True)
class Denied:
    """The person refused at the issuer."""


@dataclass(frozen=True, slots=True)
class CodeExpired:
    """The issuer says that the code is too old."""


@dataclass(frozen=True, slots=True)
class LoginRefused:
    """The issuer refused a code, a refresh token or the whole request, for good."""

    reason: str


@dataclass(frozen=True, slots=True)
class PutOff:
    """The issuer took no code or refresh token: no connection was made, or it answered that it
    cannot now. `after` is the time that it asks to wait."""

    reason: str = ""
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class AnswerLost:
    """A code or refresh token left, and its answer did not come or cannot be read."""


@dataclass(frozen=True, slots=True)
class TokenRefused:
    """The vendor refused the access token of this version."""

    version: int


@dataclass(frozen=True, slots=True)
class RevokeLogin:
    """The end of a login by its owner."""


LoginStimulus: TypeAlias = (
    Opened
    | TimePassed
    | StillPending
    | SlowDown
    | PollUnanswered
    | CodePasted
    | TokensCame
    | Denied
    | CodeExpired
    | LoginRefused
    | PutOff
    | AnswerLost
    | TokenRefused
    | RevokeLogin
)


class LoginCommand(StrEnum):
    """A command to whoever holds the secrets of a login.

    `keep_tokens` concerns the tokens that just came; `end_grant` has the issuer revoke the tokens
    that there are, then `drop_secrets` forgets all of them and the codes.
    """

    POLL = "poll"
    TRADE_CODE = "trade_code"
    REFRESH = "refresh"
    KEEP_TOKENS = "keep_tokens"
    END_GRANT = "end_grant"
    DROP_SECRETS = "drop_secrets"
