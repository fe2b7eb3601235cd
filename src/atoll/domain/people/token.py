"""Personal access tokens: their text, their bounds, and who may make which.

Pure. Only the fingerprint of a token's text is kept. A token never exceeds its maker and never
outlives it. It acts for its owner, but it is no person at a screen: it approves nothing.
"""

import hmac
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NewType

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import Capability, delegate
from atoll.domain.people.name import printable_name

TokenId = NewType("TokenId", str)

PREFIX = "atoll_pat_"
"""The beginning of every token, by which people and scanners of secrets know it."""

USE_NOTED_EVERY = timedelta(minutes=1)
"""The shortest time between two notes of a token's use."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_DIGITS = 43
_CHECK_DIGITS = 6
_SPELLED = re.compile(f"{PREFIX}([0-9A-Za-z]{{{_SECRET_DIGITS}}})([0-9A-Za-z]{{{_CHECK_DIGITS}}})")

NEVER_INSIDE = frozenset(
    {
        *(Capability.APPROVAL_READ, Capability.APPROVAL_DECIDE),
        *(Capability.TOKEN_MANAGE, Capability.SECRET_READ, Capability.SECRET_MANAGE),
        *(Capability.SHARE_MANAGE, Capability.WEBHOOK_MANAGE, Capability.ORG_MANAGE),
        *(Capability.ORG_READ, Capability.AUDIT_READ, Capability.SYSTEM_MANAGE),
        *(Capability.SANDBOX_CREATE, Capability.SANDBOX_CHILDREN),
        *(Capability.PROFILE_MANAGE, Capability.AGENT_INSTALL),
        *(Capability.DASHBOARD_READ, Capability.DASHBOARD_USE, Capability.DASHBOARD_MANAGE),
    }
)
"""The capabilities that no token of a sandbox has, whatever its owner has: all that reaches beyond
the sandbox, and all that a person has to do. The token that a runtime holds may have
`sandbox.children` nevertheless, by the profile."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept. `mark` is the fingerprint of its text; `parent` the token by which it
    was made, whose end is its own. With `sandbox_id` it reaches that sandbox alone."""

    id: TokenId
    org_id: OrgId
    owner: PrincipalId
    name: str
    mark: str
    capabilities: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    sandbox_id: SandboxId | None = None
    parent: TokenId | None = None
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A request for a token. `capabilities` None are all of the maker's, `seconds` None the default
    life. With `account` it is for a service account of the maker's organization. Raises `Invalid`
    for a name that cannot be shown."""

    name: str
    capabilities: tuple[str, ...] | None = None
    seconds: int | None = None
    sandbox: str | None = None
    account: str | None = None

    def __post_init__(self) -> None:
        printable_name(self.name)


@dataclass(frozen=True, slots=True)
class TokenLives:
    """The lives of new tokens: the default, and the most that the administrator allows."""

    default: timedelta
    most: timedelta


def spell_token(entropy: bytes) -> str:
    """Return a token's text for 32 random bytes: the prefix, 43 digits in base 62, and 6 digits of
    CRC-32 over these, so that a mistyped or cut token is known without a look at the store."""
    secret = _spell_number(int.from_bytes(entropy), _SECRET_DIGITS)
    return f"{PREFIX}{secret}{_check(secret)}"


def is_token(text: str) -> bool:
    """Report whether this is the text of a token, by its form and its check digits."""
    found = _SPELLED.fullmatch(text)
    return found is not None and hmac.compare_digest(_check(found[1]), found[2])


def granted_capabilities(
    own: frozenset[Capability], requested: Iterable[str] | None, *, inside: bool
) -> frozenset[Capability]:
    """Return the capabilities of a new token. Raises `Forbidden` for one that its maker has not, or
    that no token of a sandbox (`inside`) may have."""
    if not inside:
        return delegate(own, requested)
    try:
        return delegate(own - NEVER_INSIDE, requested)
    except Forbidden as error:
        raise Forbidden(f"{error.message}, or a sandbox may not have it") from None


def expiry_of(
    request: TokenRequest, lives: TokenLives, *, now: datetime, maker_ends: datetime | None
) -> datetime:
    """Return when a new token ends. Raises `Invalid` for a life beyond the administrator's bound;
    a maker that is a token itself bounds it without a word."""
    if request.seconds is None:
        life = min(lives.default, lives.most)
    else:
        life = timedelta(seconds=request.seconds)
    if life > lives.most:
        raise Invalid(
            f"a token lives at most {lives.most.days} days here (the setting `pat_max_days`)",
            field="ttl",
        )
    ends = now + life
    return ends if maker_ends is None else min(ends, maker_ends)


def is_use_fresh(token: Token, now: datetime) -> bool:
    """Report whether the last use that is kept says enough: it is less than a minute old."""
    return token.used_at is not None and now - token.used_at < USE_NOTED_EVERY


def _check(secret: str) -> str:
    return _spell_number(zlib.crc32(f"{PREFIX}{secret}".encode()), _CHECK_DIGITS)


def _spell_number(number: int, digits: int) -> str:
    found = ""
    for _ in range(digits):
        number, digit = divmod(number, len(_DIGITS))
        found = _DIGITS[digit] + found
    return found
