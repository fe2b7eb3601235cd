"""The ways an attach session ends."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from atoll.surfaces.cli.console.exits import CONFLICT, FAILED, NOT_AUTHORISED, NOT_FOUND

if TYPE_CHECKING:
    from atoll.surfaces.cli.attach.connection import ConnectionEnd, TerminalTarget

GUEST_OVER = (
    "your access has ended: the link was revoked or has expired. Ask whoever invited you for a new "
    "one"
)

_REDIRECTED = (
    "the server sends terminals to another address, which is not followed: "
    "use the address it is really at"
)
_REDIRECTS = (301, 302, 303, 307, 308)
_REFUSED = (401, 403)
_REVOKED = 4401
_ENDED = (4409, 4410)


@dataclass(frozen=True, slots=True)
class Detachment:
    """The person pressed the detach keys or hung up; the terminal goes on."""


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """The terminal's program ended: exactly one of `code` and `signal` (a name or number)."""

    code: int | None
    signal: str | None


@dataclass(frozen=True, slots=True)
class ConnectionLoss:
    """End of a connection that a retry would not restore; `exit_code` as in `exits`."""

    message: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class SignalEnd:
    """End by a signal to this process."""

    number: int


Ending: TypeAlias = Detachment | ProgramEnd | ConnectionLoss | SignalEnd


def loss_of(end: "ConnectionEnd", target: "TerminalTarget") -> ConnectionLoss | None:
    """Return the end of a connection that closed; None when another one may go on."""
    if target.guest and (end.code == _REVOKED or end.status in _REFUSED):
        return ConnectionLoss(GUEST_OVER, NOT_AUTHORISED)
    if end.status in _REFUSED:
        return ConnectionLoss("the server refused the token: see `atoll login`", NOT_AUTHORISED)
    if end.status in _REDIRECTS:
        return ConnectionLoss(_REDIRECTED, FAILED)
    if end.code in _ENDED and end.reason:
        return ConnectionLoss(end.reason, CONFLICT)
    return _loss_by_code(end.code, target.name)


def _loss_by_code(code: int, name: str) -> ConnectionLoss | None:
    match code:
        case 1000:
            return ConnectionLoss(f"the terminal of {name} was closed", NOT_FOUND)
        case 4000:
            return ConnectionLoss(f"another attach took over this session at {name}", CONFLICT)
        case 4401:
            message = f"the attach session at {name} was revoked or has expired"
            return ConnectionLoss(message, NOT_AUTHORISED)
        case 4404:
            return ConnectionLoss(f"the terminal of {name} is gone", NOT_FOUND)
        case _:
            return None
