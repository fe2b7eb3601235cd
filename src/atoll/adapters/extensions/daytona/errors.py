"""The errors of Daytona's libraries, as what a caller can do about them."""

import json

from daytona import DaytonaError
from daytona_api_client_async.exceptions import ApiException

from atoll.adapters.rented.calls import TemporaryRefusal, clean, error_of_status, wanted_pause
from atoll.domain.errors import AtollError
from atoll.ports.extension import VendorKey

REFUSALS = frozenset({429, 502, 503})


def translate_error(error: Exception, what: str, key: VendorKey) -> BaseException:
    """Return the error to raise."""
    if isinstance(error, (AtollError, TimeoutError)):
        return error
    translated = error_of_status(status_of(error), REFUSALS)(
        f"{what} failed: {clean(_error_message(error), key.value)}"
    )
    if isinstance(translated, TemporaryRefusal):
        translated.after = wanted_pause(getattr(error, "headers", None) or {})
    return translated


def status_of(error: Exception) -> int | None:
    """Return the status of an answer; None where there was none, or only a part of it."""
    status: object = None
    if isinstance(error, DaytonaError):
        status = error.status_code
    elif isinstance(error, ApiException):
        status = error.status
    return status if isinstance(status, int) and not isinstance(status, bool) else None


def _error_message(error: Exception) -> str:
    """Return the vendor's message, or the text of the error."""
    if isinstance(error, ApiException):
        try:
            message = json.loads(error.body or "").get("message")
        except (ValueError, AttributeError):
            message = None
        return str(message or f"{error.status} {error.reason}")
    return str(error) or type(error).__name__
