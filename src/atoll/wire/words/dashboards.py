"""Bounds of dashboards."""

from typing import Final

MAX_COMMENT_BYTES: Final = 4096
MAX_MENTIONS: Final = 20
