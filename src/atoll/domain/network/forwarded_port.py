"""Ports of a sandbox's loopback that may be forwarded out of it.

Doors are excluded: a client of the broker's port would use the sandbox's keys. So is the runtime's
port.
"""

import re
from typing import Final

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.wall.interior import DOORS

MOST_PORT: Final = 65535
RUNTIME_PORT: Final = 7681
"""The port of a runtime in a pod, which shares its loopback with the sandbox."""

REFUSED_PORTS: Final = frozenset({*DOORS, RUNTIME_PORT})
DOOR_PORT: Final = "door_port"
"""The error code for a refused port of a door."""

_SPELLED: Final = re.compile(r"[1-9][0-9]{0,4}")


def read_port(text: str) -> int:
    """Return the port that `text` names in plain ASCII digits. Raises `Invalid` for every other
    spelling (signs, blanks, leading zeros, other scripts' digits), `Forbidden` for a door."""
    if _SPELLED.fullmatch(text) is None or int(text) > MOST_PORT:
        raise Invalid(f"{text[:20]!r} is no port: write 1 to {MOST_PORT} in digits", field="port")
    return check_port(int(text))


def check_port(port: int) -> int:
    """Return the port. Raises `Invalid` for a number that is none, `Forbidden` for a door and for
    the runtime's own port."""
    if not 1 <= port <= MOST_PORT:
        raise Invalid(f"{port} is no port: it lies between 1 and {MOST_PORT}", field="port")
    if port in REFUSED_PORTS:
        raise Forbidden(
            f"port {port} is a door of the sandbox and is never forwarded: whoever reached it "
            "would use the sandbox's keys",
            code=DOOR_PORT,
        )
    return port
