"""Secrets of Atoll's own that are known by their shape: personal access tokens, and webhooks' keys.

Nobody has to name them to the sandbox: a fixed beginning, then so many characters of one alphabet.
The search costs two look-ups of a text in the common case, that nothing of the kind is there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.domain.redaction.views import Span


@dataclass(frozen=True, slots=True)
class Shape:
    """A text that begins with `prefix` and has `size` bytes; `body` matches those after it, as far
    as they fit."""

    prefix: bytes
    size: int
    body: re.Pattern[bytes]


SHAPES = (
    Shape(b"atoll_pat_", 59, re.compile(rb"[0-9A-Za-z]{0,49}")),
    Shape(b"whsec_", 50, re.compile(rb"[0-9A-Za-z+/]{43}=|[0-9A-Za-z+/]{0,43}")),
)

LONGEST = max(shape.size for shape in SHAPES)


def find_shapes(data: bytes) -> tuple[Sequence[Span], int]:
    """Return the intervals of whole secrets, and where the longest unfinished one at the end begins
    (the length, where there is none)."""
    spans: list[Span] = []
    live_from = len(data)
    for shape in SHAPES:
        at = data.find(shape.prefix)
        while at != -1:
            found = shape.body.match(data, at + len(shape.prefix))
            end = at if found is None else found.end()
            if end - at == shape.size:
                spans.append((at, end))
            elif end == len(data):
                live_from = min(live_from, at)
            at = data.find(shape.prefix, at + 1)
        live_from = min(live_from, len(data) - beginning(shape.prefix, data))
    return spans, live_from


def beginning(text: bytes, data: bytes) -> int:
    """Return how many of the last bytes of `data` are an unfinished `text`."""
    at = data.find(text[:1], max(0, len(data) - len(text) + 1))
    while at != -1:
        if text.startswith(data[at:]):
            return len(data) - at
        at = data.find(text[:1], at + 1)
    return 0
