"""The errors of E2B's library, as what a caller can do about them."""

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from e2b import (
    AuthenticationException,
    InvalidArgumentException,
    NotFoundException,
    RateLimitException,
    SandboxException,
    TemplateException,
)
from e2b.exceptions import (
    SandboxNotRunningException,
    ServiceBusyException,
    is_sandbox_not_found_message,
)

from atoll.adapters.rented.calls import SERVER_FAULT, TemporaryRefusal, clean
from atoll.adapters.rented.shell import ProcessGone
from atoll.adapters.rented.vendor import Gone
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import VendorKey

_RPC = {
    Code.NOT_FOUND: ProcessGone,
    Code.UNAUTHENTICATED: Failed,
    Code.PERMISSION_DENIED: Failed,
    Code.RESOURCE_EXHAUSTED: TemporaryRefusal,
}


def translate_error(error: Exception, what: str, key: VendorKey) -> BaseException:
    """Return the error to raise. An error of an unknown kind is `Unavailable`: the answer was half
    an answer, and whether the call did anything is not known."""
    if isinstance(error, (AtollError, TimeoutError)):
        return error
    message = str(error) or type(error).__name__
    return _error_class(error)(f"{what} failed: {clean(message, key.value)}")


def _error_class(error: Exception) -> type[AtollError]:
    if isinstance(error, ConnectError):
        if is_sandbox_not_found_message(error.message):
            return Gone
        return _RPC.get(error.code, Unavailable)
    if isinstance(error, (NotFoundException, SandboxNotRunningException)):
        return Gone
    if isinstance(error, (RateLimitException, ServiceBusyException)):
        return TemporaryRefusal
    if isinstance(error, (AuthenticationException, InvalidArgumentException, TemplateException)):
        return Failed
    if isinstance(error, SandboxException) and error.status_code is not None:
        return Failed if error.status_code < SERVER_FAULT else Unavailable
    return Unavailable
