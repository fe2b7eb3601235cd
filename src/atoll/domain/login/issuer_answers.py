"""Answers of an issuer to a poll and to a request for tokens, as stimuli of a login.

RFC 8628 names errors in the body. OpenAI's flow for its own clients answers 403 or 404 for as long
as the person has not confirmed, whatever the body says.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, TypeAlias

from atoll.domain.login.agent_login import (
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


def poll_verdict(status: int, error: str) -> PollVerdict:
    """Return the meaning of a poll's refusal by RFC 8628 §3.5. `error` is the body's."""
    if error in _SAID:
        return _SAID[error]
    if status == 429:
        return SlowDown()
    return PollUnanswered() if is_passing(status) else _refusal(status)


def openai_poll_verdict(status: int) -> PollVerdict:
    """Return the meaning of a poll's refusal in OpenAI's flow."""
    if status in (403, 404):
        return StillPending()
    if status == 429:
        return SlowDown()
    return PollUnanswered() if is_passing(status) else _refusal(status)


def is_passing(status: int) -> bool:
    """Report whether a refusal says nothing about the code: the issuer was too busy, or broke."""
    return status >= 500 or status == 408


def _refusal(status: int) -> LoginRefused:
    return LoginRefused(f"the issuer refused the login (status {status}): log in again")
