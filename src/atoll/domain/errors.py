"""Errors named by what the caller can do about them.

A message says what failed, which id, why, and what to do. `error_status` maps each class
to a status code; `code` is a stable word clients may switch on.
"""


class AtollError(Exception):
    """The base of every error that Atoll raises on purpose."""

    default_code = "error"

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.field = field


class Invalid(AtollError):
    """The request itself is wrong: fix it, do not repeat it. `field` names where."""

    default_code = "invalid"


class Unauthenticated(AtollError):
    """The caller is not known: log in or send a token."""

    default_code = "unauthenticated"


class Forbidden(AtollError):
    """The caller may not do this."""

    default_code = "forbidden"


class NotFound(AtollError):
    """No such thing for this caller (the same words whether absent or someone else's)."""

    default_code = "not_found"


class Conflict(AtollError):
    """The thing is in a state that does not allow this; look at it and decide anew."""

    default_code = "conflict"


class LimitReached(AtollError):
    """A limit or size cap was hit: free something or ask for a higher limit."""

    default_code = "limit_reached"


class Unavailable(AtollError):
    """Temporary: the same request may work later."""

    default_code = "unavailable"


class Failed(AtollError):
    """A backend broke for good; the message is the reason a person can act on."""

    default_code = "failed"
