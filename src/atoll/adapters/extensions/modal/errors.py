"""The errors of Modal's library, as what a caller can do about them."""

from modal import exception

from atoll.adapters.rented.calls import TemporaryRefusal, clean
from atoll.adapters.rented.vendor import Gone
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import VendorKey

_FINAL = (
    exception.AuthError,
    exception.PermissionDeniedError,
    exception.InvalidError,
    exception.UnimplementedError,
    exception.VersionError,
    exception.ImageBuildError,
)
# A conflict is a kind of `InvalidError`: something that is over already.
_MISSING = (
    exception.NotFoundError,
    exception.ConflictError,
    exception.SandboxTerminatedError,
    exception.SandboxTimeoutError,
)


def translate_error(
    error: Exception, what: str, key: VendorKey, missing: type[AtollError] = Gone
) -> Exception:
    """Return the error to raise, `missing` for what is not there. An error of an unknown kind is
    `Unavailable`: whether the call did anything is not known."""
    if isinstance(error, (AtollError, TimeoutError)):
        return error
    message = str(error) or type(error).__name__
    words = f"{what} failed: {clean(message, key.value, *key.value.split(':'))}"
    if isinstance(error, _MISSING):
        return missing(words)
    if isinstance(error, exception.ResourceExhaustedError):
        return TemporaryRefusal(words)
    return (Failed if isinstance(error, _FINAL) else Unavailable)(words)
