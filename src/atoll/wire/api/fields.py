"""Fields and parameters that many declarations share."""

from typing import Annotated, Any

from msgspec import Meta

from atoll.wire.words.events import MAX_POSITION

ItemId = Annotated[str, Meta(min_length=1, max_length=200)]
"""An id in a path."""

Word = Annotated[str, Meta(min_length=1, max_length=200)]
"""A short text."""

Position = Annotated[int, Meta(ge=0, le=MAX_POSITION)]
"""A position of the event log."""

PageLimit = Annotated[int, Meta(ge=1, le=1000)]
"""The number of items of a page by position."""


class Seconds(int):
    """A duration in whole seconds. Clients send the number, or text such as `4h`."""


class SecondsOrZero(Seconds):
    """A duration in whole seconds, or 0 for none at all."""


JsonObject = dict[str, Any]
"""An object whose members no declaration names."""
