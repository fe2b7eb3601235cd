"""Answers of an issuer to a poll and to a request for tokens, as stimuli of a login.

RFC 8628 names errors in the body. OpenAI's flow for its own clients answers 403 or 404 for as long
as the person has not confirmed, whatever the body says.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, TypeAlias

from atoll.domain.event import Json
from atoll.domain.logins.agent_login import (
    CodeExpired,
    Denied,
    LoginRefused,
    PollUnanswered,
    SlowDown,
    StillPending,
)

PollVerdict: TypeAlias = (
    StillPending | SlowDown | PollUnanswered | Denied | CodeExpired | LoginRefused
)

_SAID: Final[Mapping[str, PollVerdict]] = {
    "authorization_pending": StillPending(),
    "slow_down": SlowDown(),
    "access_denied": Denied(),
    "expired_token": CodeExpired(),
}
_GRANT_ENDED: Final = frozenset(
    {
        "invalid_grant",
        "access_denied",
        "expired_token",
        "invalid_token",
        "token_expired",
        # OpenID Connect Core §3.1.2.6, where the provider wants to see the person
        "account_selection_required",
        "consent_required",
        "interaction_required",
        "login_required",
        # GitHub, Slack and OpenAI
        "bad_refresh_token",
        "invalid_refresh_token",
        "refresh_token_expired",
        "refresh_token_invalidated",
        "refresh_token_reused",
    }
)
"""The errors by which an issuer says that a refresh token is good no more."""

_MAX_SECONDS: Final = 366 * 24 * 3600
_MAX_DIGITS: Final = 9


def read_seconds(value: object) -> timedelta | None:
    """Return a positive number of seconds as an issuer writes it, as a number or its text; None
    for anything else. More than a year is a year."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return None
    return timedelta(seconds=min(value, _MAX_SECONDS))


def ends_grant(body: Mapping[str, Json]) -> bool:
    """Report whether the answer to a refresh says that the grant is over. Any other error may pass:
    the issuer is busy or broken, stands behind something that is, or its client is not set up."""
    error = body.get("error")
    if isinstance(error, dict):  # OpenAI's form
        error = error.get("code")
    return isinstance(error, str) and error in _GRANT_ENDED


def poll_verdict(status: int, error: str) -> PollVerdict:
    """Return the meaning of a poll's refusal by RFC 8628 §3.5. `error` is the body's."""
    if error in _SAID:
        return _SAID[error]
    if status == 429:
        return SlowDown()
    return PollUnanswered() if is_busy(status) else _refusal(status)


def openai_poll_verdict(status: int) -> PollVerdict:
    """Return the meaning of a poll's refusal in OpenAI's flow."""
    if status in (403, 404):
        return StillPending()
    if status == 429:
        return SlowDown()
    return PollUnanswered() if is_busy(status) else _refusal(status)


def is_busy(status: int) -> bool:
    """Report whether an answer says nothing about the code: the issuer is too busy, broken, or
    somewhere else."""
    return status >= 500 or status in (408, 425, 429) or 200 < status < 400


def _refusal(status: int) -> LoginRefused:
    return LoginRefused(f"the issuer refused the login (status {status}): log in again")
