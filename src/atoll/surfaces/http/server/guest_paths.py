"""Where a guest may go: the terminals of its seat, and out again. Everything else is not there.

A list of what is allowed, so that a route added tomorrow is closed to guests. Which sandbox
and terminal it is, the service compares with the seat.
"""

import re
from typing import Final

from starlette.types import Scope

_ID: Final = "[^/]+"
_READ: Final = re.compile(
    rf"/auth/me|/v1/sandboxes/{_ID}/terminals(?:/{_ID}(?:/cards|/marks|/text)?)?|/sessions/{_ID}/ptys"
)
_SOCKET: Final = re.compile(
    rf"/v1/sandboxes/{_ID}/terminals/{_ID}/(?:attach|cards)|/sessions/{_ID}/ptys/{_ID}/ws"
)
_LEAVE: Final = "/auth/logout"


def guest_may(scope: Scope) -> bool:
    """Whether this request or WebSocket is one a guest can have."""
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
