"""Words and bounds of sandboxes."""

from typing import Final

MAX_MOUNTS: Final = 16
MAX_COMPOSE_BYTES: Final = 65536
"""The size of a compose file."""
