"""Cursors: opaque words that say where a page of sandboxes ended.

A cursor only names a place in an order; it grants nothing, so it is checked, not signed.
"""

import base64
import binascii
import re
from datetime import UTC, datetime

from atoll.domain.errors import Invalid
from atoll.domain.ids import SandboxId

_SHAPE = re.compile(
    r"1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?\+00:00) (sb_[a-z2-7]{16})\Z", re.ASCII
)


def spell_cursor(created_at: datetime, sandbox_id: SandboxId) -> str:
    """Return the place right after this sandbox."""
    place = f"1 {created_at.astimezone(UTC).isoformat()} {sandbox_id}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def read_cursor(text: str) -> tuple[datetime, SandboxId]:
    """Return the place a cursor names. Raises `Invalid` for anything `spell_cursor` did not
    make."""
    place = _place(text)
    if place is not None and spell_cursor(*place) == text:
        return place
    raise Invalid(
        "The cursor is not one this server gave out: start again without one.", field="cursor"
    )


def _place(text: str) -> tuple[datetime, SandboxId] | None:
    try:
        padded = text + "=" * (-len(text) % 4)
        place = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
        match = _SHAPE.match(place)
        return None if match is None else (datetime.fromisoformat(match[1]), SandboxId(match[2]))
    except (ValueError, binascii.Error):
        return None
