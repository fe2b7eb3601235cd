"""The errors of Daytona's libraries, as what a caller can do about them."""

import json

from daytona import DaytonaError
from daytona_api_client_async.exceptions import ApiException

from atoll.adapters.rented.calls import Refused
from atoll.adapters.rented.vendor import Gone
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import VendorKey

MAX_MESSAGE = 300
NOT_FOUND, GONE, CONFLICT = 404, 410, 409
REFUSALS = frozenset({429, 502, 503})
"""Statuses of a call that did nothing, or that may be sent again."""

SERVER_FAULT = 500


def understood(error: Exception, what: str, key: VendorKey) -> BaseException:
    """Return the error to raise. An error without a status is `Unavailable`: the answer was half
    an answer, and whether the call did anything is not known."""
    if isinstance(error, (AtollError, TimeoutError)):
        return error
    said = _words(error).replace(key.value, "…")[:MAX_MESSAGE]
    made = _kind(status_of(error))(f"{what} failed: {said}")
    if isinstance(made, Refused):
        made.after = _after(error)
    return made


def status_of(error: Exception) -> int | None:
    """Return the status of an answer; None where there was none, or only a part of it."""
    status: object = None
    if isinstance(error, DaytonaError):
        status = error.status_code
    elif isinstance(error, ApiException):
        status = error.status
    return status if isinstance(status, int) and not isinstance(status, bool) else None


def _kind(status: int | None) -> type[AtollError]:
    if status in (NOT_FOUND, GONE):
        return Gone
    if status in REFUSALS:
        return Refused
    if status is None or status < 400 or status >= SERVER_FAULT:
        return Unavailable
    return Failed


def _after(error: Exception) -> float:
    """Return the pause in seconds that an answer asks for; 0 where it names none."""
    headers = getattr(error, "headers", None) or {}
    said = {str(name).lower(): value for name, value in headers.items()}.get("retry-after", "")
    return float(said) if str(said).isdecimal() else 0.0


def _words(error: Exception) -> str:
    """Return the vendor's own sentence, where there is one."""
    if isinstance(error, ApiException):
        try:
            message = json.loads(error.body or "").get("message")
        except (ValueError, AttributeError):
            message = None
        return str(message or f"{error.status} {error.reason}")
    return str(error) or type(error).__name__
