"""The errors of a gateway of OpenShell, as what a caller can do about them."""

import grpc

from atoll.adapters.rented.calls import TemporaryRefusal, clean
from atoll.adapters.rented.vendor import Gone
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import VendorKey

_Code = grpc.StatusCode
_KINDS: dict[grpc.StatusCode, type[AtollError]] = {
    _Code.NOT_FOUND: Gone,
    _Code.UNAUTHENTICATED: Failed,
    _Code.PERMISSION_DENIED: Failed,
    _Code.INVALID_ARGUMENT: Failed,
    _Code.UNIMPLEMENTED: Failed,
    _Code.OUT_OF_RANGE: Failed,
    _Code.RESOURCE_EXHAUSTED: TemporaryRefusal,
}


class NotReady(Unavailable):
    """A sandbox that takes no command now."""


def translate_error(error: Exception, what: str, key: VendorKey) -> Exception:
    """Return the error to raise. One of an unknown kind is `Unavailable`: whether the call did
    anything is not known."""
    if not isinstance(error, grpc.aio.AioRpcError):
        return error
    code = error.code()
    kind = NotReady if code is _Code.FAILED_PRECONDITION else _KINDS.get(code, Unavailable)
    return kind(f"{what} failed: {clean(error.details() or code.name.lower(), key.value)}")
