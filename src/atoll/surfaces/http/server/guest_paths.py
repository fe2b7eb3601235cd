"""Paths open to a guest: what its link opens, SSH to it, and log-out. All others are not found.

Who came by an edit link of a dashboard comments on it, too.
A list of what is allowed, so that a route added tomorrow is closed to guests. The service compares
sandbox, terminal, recording and dashboard with the guest's access.
"""

import re
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from atoll.domain.people.principal import GuestAccess

_ID: Final = "[^/]+"
_TERMINAL: Final = rf"/v1/sandboxes/{_ID}/terminals/{_ID}"
_ME: Final = "/auth/me|/v1/me|/v1/ssh"
_LEAVE: Final = "/auth/logout"
_CERTIFICATES: Final = re.compile(rf"/v1/sandboxes/{_ID}/ssh/certificates")


@dataclass(frozen=True, slots=True)
class _GuestPaths:
    """The paths that a guest may read, and those of the WebSockets it may open."""

    read: re.Pattern[str]
    socket: re.Pattern[str]


_SANDBOX: Final = _GuestPaths(
    re.compile(
        rf"{_ME}|/v1/sandboxes/{_ID}/terminals|{_TERMINAL}(?:/cards|/marks|/text)?"
        rf"|/v1/sandboxes/{_ID}/recordings/{_ID}|/sessions/{_ID}/ptys"
    ),
    re.compile(rf"{_TERMINAL}/(?:attach|cards)|/sessions/{_ID}/ptys/{_ID}/ws"),
)
_DASHBOARD: Final = _GuestPaths(
    re.compile(rf"{_ME}|/v1/dashboards/{_ID}(?:/comments)?|{_TERMINAL}(?:/cards|/marks|/text)?"),
    re.compile(rf"/v1/dashboards/{_ID}/attach|{_TERMINAL}/(?:attach|cards)"),
)


_COMMENTS: Final = re.compile(rf"/v1/dashboards/{_ID}/comments")
_COMMENT: Final = re.compile(rf"/v1/dashboards/{_ID}/comments/{_ID}")


def guest_may(scope: Scope, access: GuestAccess) -> bool:
    """Report whether a guest may send this request or WebSocket."""
    path = scope["path"]
    open_to = _SANDBOX if access.dashboard_id is None else _DASHBOARD
    if scope["type"] == "websocket":
        return open_to.socket.fullmatch(path) is not None
    match scope["method"]:
        case "GET" | "HEAD":
            return open_to.read.fullmatch(path) is not None
        case "POST":
            enters = access.dashboard_id is None and _CERTIFICATES.fullmatch(path) is not None
            comments = access.edits and _COMMENTS.fullmatch(path) is not None
            return path == _LEAVE or enters or comments
        case "PATCH" | "DELETE":
            return access.edits and _COMMENT.fullmatch(path) is not None
        case _:
            return False
