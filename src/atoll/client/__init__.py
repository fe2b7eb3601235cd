"""The typed Python client of the HTTP API. It prints nothing.

Programs import `Atoll` and the names beside it from here; these stay (docs/program/client.md). A
name is loaded from its module once it is asked for: the command line uses the blocking client of
this package, which needs the standard library only.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atoll.client.aio.atoll import Atoll
    from atoll.client.aio.delivery import read_delivery
    from atoll.client.aio.retries import NO_RETRIES, Retries
    from atoll.client.aio.terminal import AttachedTerminal
    from atoll.client.audit import verify_export
    from atoll.client.made.events import Event, Gap
    from atoll.domain.errors import (
        AtollError,
        Conflict,
        Failed,
        Forbidden,
        Invalid,
        LimitReached,
        NotFound,
        Unauthenticated,
        Unavailable,
    )

__all__ = [
    "NO_RETRIES",
    "Atoll",
    "AtollError",
    "AttachedTerminal",
    "Conflict",
    "Event",
    "Failed",
    "Forbidden",
    "Gap",
    "Invalid",
    "LimitReached",
    "NotFound",
    "Retries",
    "Unauthenticated",
    "Unavailable",
    "read_delivery",
    "verify_export",
]

_ERRORS = "atoll.domain.errors"
_MODULES = {
    "Atoll": "atoll.client.aio.atoll",
    "AttachedTerminal": "atoll.client.aio.terminal",
    "Event": "atoll.client.made.events",
    "Gap": "atoll.client.made.events",
    "NO_RETRIES": "atoll.client.aio.retries",
    "read_delivery": "atoll.client.aio.delivery",
    "Retries": "atoll.client.aio.retries",
    "verify_export": "atoll.client.audit",
}


def __getattr__(name: str) -> object:
    """Load a published name. Raises `AttributeError` for any other."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, _ERRORS)), name)
