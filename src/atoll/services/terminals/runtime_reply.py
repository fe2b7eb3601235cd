"""Ids that go into paths of the runtime contract."""

import re

from atoll.domain.errors import NotFound

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def checked_id(text: str, *, noun: str) -> str:
    """Return `text` when it can be an id. Raises `NotFound`."""
    if not _ID.match(text):
        raise NotFound(f"There is no such {noun} here; list them to see which there are.")
    return text
