"""The decision whether a request that failed is sent again, and when. Nothing here waits.

A request that the server refused before it did anything (too many requests, a sandbox that is still
being made) is repeated after its `Retry-After` (RFC 9110 §10.2.3), whatever its method. One whose
fate is unknown is repeated only where that does no harm: a method that is idempotent (RFC 9110
§9.2.2), or a request with an `Idempotency-Key`.
"""

import random
from collections.abc import AsyncIterable, Iterable
from typing import Final, NamedTuple

from atoll.client.transport import Call
from atoll.domain.errors import AtollError, Unavailable

_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_REFUSED: Final = frozenset({"rate_limited", "not_ready"})
"""The codes of refusals before anything was done."""

FIRST_PAUSE_SECONDS: Final = 0.25

Body = bytes | Iterable[bytes] | AsyncIterable[bytes] | None


class Retries(NamedTuple):
    """Retries of a client. `attempts` counts the first one; `longest_seconds` is the longest pause
    before one of them: a server that wants more raises at once."""

    attempts: int = 4
    longest_seconds: float = 30.0

    def after_answer(
        self, call: Call, error: AtollError, retry_after: str | None, attempt: int
    ) -> float | None:
        """Return the pause in seconds before the next attempt; None for no further one."""
        refused = error.code in _REFUSED
        if not refused and not isinstance(error, Unavailable):
            return None
        if retry_after is None or not (refused or is_repeatable(call)):
            return self.after_silence(call, attempt)
        if attempt >= self.attempts or not (retry_after.isascii() and retry_after.isdecimal()):
            return None
        seconds = int(retry_after[:9])
        return seconds + _spread(0.1) if seconds <= self.longest_seconds else None

    def after_silence(self, call: Call, attempt: int) -> float | None:
        """Return the pause after a request of which nobody knows whether it was performed."""
        if attempt >= self.attempts or not is_repeatable(call):
            return None
        return min(_spread(FIRST_PAUSE_SECONDS * 2**attempt), self.longest_seconds)


USUAL_RETRIES: Final = Retries()
NO_RETRIES: Final = Retries(attempts=1)


def is_repeatable(call: Call) -> bool:
    """Report whether sending the request twice does what sending it once does."""
    named = any(name.lower() == "idempotency-key" for name, _ in call.headers)
    return call.method in _IDEMPOTENT or named


def is_whole(body: Body) -> bool:
    """Report whether a body can be sent again."""
    return body is None or isinstance(body, bytes | list | tuple)


def _spread(seconds: float) -> float:
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 (spreads clients)
