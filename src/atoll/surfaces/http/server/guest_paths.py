"""Paths open to a guest: what its link opens, and log-out. All others are not found.

A list of what is allowed, so that a route added tomorrow is closed to guests. The service compares
sandbox, terminal and recording with the guest's access.
"""

import re
from typing import Final

from starlette.types import Scope

_ID: Final = "[^/]+"
_READ: Final = re.compile(
    rf"/auth/me|/v1/me|/v1/sandboxes/{_ID}/terminals(?:/{_ID}(?:/cards|/marks|/text)?)?"
    rf"|/v1/sandboxes/{_ID}/recordings/{_ID}|/sessions/{_ID}/ptys"
)
_SOCKET: Final = re.compile(
    rf"/v1/sandboxes/{_ID}/terminals/{_ID}/(?:attach|cards)|/sessions/{_ID}/ptys/{_ID}/ws"
)
_LEAVE: Final = "/auth/logout"


def guest_may(scope: Scope) -> bool:
    """Report whether a guest may send this request or WebSocket."""
    path = scope["path"]
    if scope["type"] == "websocket":
        return _SOCKET.fullmatch(path) is not None
    match scope["method"]:
        case "GET" | "HEAD":
            return _READ.fullmatch(path) is not None
        case "POST":
            return bool(path == _LEAVE)
        case _:
            return False
