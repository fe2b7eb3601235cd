"""Errors named by what the caller can do about them.

A message says what failed, which id, why, and what to do. `error_status` maps each class
to a status code; `code` is a stable word clients may switch on.
"""

from typing import Final, NamedTuple

AWAY: Final = "not reached now: "
"""The beginning of the reason of a sandbox that runs on a machine which is away."""


class AtollError(Exception):
    """The base of every error that Atoll raises on purpose.

    `request_id` names the request that a server refused, as the server's log does; None for an
    error that no server answered with.
    """

    default_code = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        field: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.field = field
        self.request_id = request_id

    @property
    def reason(self) -> str:
        """The message for a record that has no place for the field: it begins with that, unless the
        message names it."""
        named = self.field is None or self.field in self.message
        return self.message if named else f"{self.field}: {self.message}"


class Invalid(AtollError):
    """A request that is itself wrong: fix it, do not repeat it. `field` names where."""

    default_code = "invalid"


class Unauthenticated(AtollError):
    """A request by an unknown caller: log in or send a token."""

    default_code = "unauthenticated"


class Forbidden(AtollError):
    """A request that this caller may not make."""

    default_code = "forbidden"


class NotFound(AtollError):
    """An unknown thing for this caller (the same words whether absent or someone else's)."""

    default_code = "not_found"


class Conflict(AtollError):
    """A request that the state does not allow: look at the thing and decide anew."""

    default_code = "conflict"


class StaleCursor(Conflict):
    """A place in a stream whose next events are no longer kept: resume after `resume_after`."""

    default_code = "stale_cursor"

    def __init__(
        self, message: str, *, resume_after: int = 0, request_id: str | None = None
    ) -> None:
        super().__init__(message, request_id=request_id)
        self.resume_after = resume_after


class RejectedPlace(NamedTuple):
    """A place that does not take a sandbox, and each reason. `host` is empty on the machines of a
    vendor, whose `region` counts. No dataclass: every command loads this file."""

    extension: str
    host: str
    region: str
    reasons: tuple[str, ...]


class NoRoute(Conflict):
    """A sandbox that no place takes: free one, set one up, or choose another. `candidates` are the
    places that were judged."""

    default_code = "no_route"

    def __init__(
        self,
        message: str,
        *,
        field: str = "route",
        candidates: tuple[RejectedPlace, ...] = (),
    ) -> None:
        super().__init__(message, field=field)
        self.candidates = candidates


class LimitReached(AtollError):
    """A limit or size cap that was reached: free something or request a higher limit."""

    default_code = "limit_reached"


class Unavailable(AtollError):
    """A temporary failure: the same request may work later."""

    default_code = "unavailable"


class NoConnection(Unavailable):
    """A peer that nothing was sent to, as it takes no connection: the request had no effect."""


class Failed(AtollError):
    """A permanent failure of a backend; its message is a reason a person can act on."""

    default_code = "failed"
