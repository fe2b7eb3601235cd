"""A way out of the broker door: a passage made ready, which any number of requests may take.

What all of them share is made once: the head as it goes out, and the search for its keys in
what comes back. Decides nothing.
"""

from dataclasses import dataclass, field

from atoll.domain.git_remote import Remote
from atoll.domain.passage import Passage
from atoll.domain.redaction.literals import Literals
from atoll.runtime.doors.holdings import Grant

_BODIED = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class Way:
    """A passage, and what it leans on. `opening` is its head up to where a body's length is
    told; `keys` are the texts that may not come back; a push to `pushed` is gated."""

    passage: Passage = field(repr=False)
    grant: Grant
    method: str
    opening: bytes = field(repr=False)
    keys: Literals = field(repr=False)
    pushed: Remote | None = field(default=None, repr=False)

    def head(self, length: int | None) -> bytes:
        """The head of a request whose body has this length, None for one in chunks."""
        if length is None:
            return self.opening + b"Transfer-Encoding: chunked\r\n\r\n"
        if length or self.method in _BODIED:
            return b"%bContent-Length: %d\r\n\r\n" % (self.opening, length)
        return self.opening + b"\r\n"


def way_of(method: str, passage: Passage, grant: Grant, pushed: Remote | None = None) -> Way:
    """Make a passage ready."""
    lines = [f"{method} {passage.target} HTTP/1.1", *map(": ".join, passage.headers), ""]
    opening = "\r\n".join(lines).encode("latin-1")
    return Way(passage, grant, method, opening, Literals(passage.masks), pushed)
