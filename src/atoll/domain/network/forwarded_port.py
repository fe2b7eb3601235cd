"""Ports of a sandbox's loopback that may be forwarded out of it.

Doors are excluded: a client of the broker's port would use the sandbox's keys.
"""

import re
from typing import Final

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.wall.interior import DOORS

MOST_PORT: Final = 65535
DOOR_PORT: Final = "door_port"
"""The error code for a refused port of a door."""

_SPELLED: Final = re.compile(r"[1-9][0-9]{0,4}")


def read_port(text: str) -> int:
    """Return the port that `text` names in plain ASCII digits. Raises `Invalid` for every other
    spelling (signs, blanks, leading zeros, other scripts' digits), `Forbidden` for a door."""
    if _SPELLED.fullmatch(text) is None or int(text) > MOST_PORT:
        raise Invalid(f"{text[:20]!r} is no port: write 1 to {MOST_PORT} in digits", field="port")
    port = int(text)
    if port in DOORS:
        raise Forbidden(
            f"port {port} is a door of the sandbox and is never forwarded: whoever reached it "
            "would use the sandbox's keys",
            code=DOOR_PORT,
        )
    return port
