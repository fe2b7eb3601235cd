"""The reports of a starting child to the zygote, and errors as refusals of the wire."""

from typing import cast, get_args

import msgspec

from atoll.domain.errors import AtollError
from atoll.wire.zygote import messages as wire
from atoll.zygote.records.record import ProcessIdentity


class SandboxReady(msgspec.Struct, frozen=True, tag=True):
    """Report that the sandbox is up. Descriptors travel beside it: `inside_count` pidfds of init
    (and bwrap), then the doors' listeners."""

    processes: tuple[ProcessIdentity, ...]
    degraded: tuple[str, ...] = ()
    inside_count: int = 2


class RendezvousReady(msgspec.Struct, frozen=True, tag=True):
    """Report that init may connect, where a container engine builds the wall. The sandbox's files
    are at `files`, the host's folders at `folders`, in the order of the request."""

    files: str
    folders: tuple[str, ...] = ()


class StartFailed(msgspec.Struct, frozen=True, tag=True):
    """Report that the sandbox could not be built; `kind` is an error's code."""

    kind: str
    message: str


def refusal(error: AtollError) -> wire.Refused:
    """Return the answer for an error."""
    return wire.Refused(kind_of(error.default_code), error.message)


def kind_of(code: str) -> wire.Kind:
    """Return the wire's name for an error code."""
    for kind in get_args(wire.Kind):
        if kind == code:
            return cast(wire.Kind, kind)
    return "failed"
