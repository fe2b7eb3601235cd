"""A way out of the broker door: a passage made ready, for every request of one shape.

What they share is made once: the head as it goes out, but for the values that each brings, and
the search for its keys in what comes back. Decides nothing.
"""

from dataclasses import dataclass, field

from atoll.domain.broker.passage import Passage
from atoll.domain.broker.price import PRICES
from atoll.domain.redaction.literals import Literals
from atoll.domain.repository.git_remote import Remote
from atoll.runtime.doors.broker.credentials import Grant
from atoll.runtime.doors.broker.request import Request
from atoll.runtime.doors.broker.response import Backs

_BODIED = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class Way:
    """A passage, and what it leans on. `opening` is its head as far as it is ours, `passed` are
    the lines of the client's, up to the value, by its place; `keys` are the texts that may not
    come back; a push to `pushed` is gated; what `costs` is metered;
    by `backs` answers come back in; the body of what is `judged` goes out when it was judged."""

    passage: Passage = field(repr=False)
    grant: Grant
    method: str
    opening: bytes = field(repr=False)
    passed: tuple[tuple[int, bytes], ...]
    keys: Literals = field(repr=False)
    costs: bool
    backs: Backs
    pushed: Remote | None = field(default=None, repr=False)
    judged: bool = False

    def head(self, request: Request) -> bytes:
        """The head of this request as it goes out."""
        values, length = request.values, request.length
        lines = [self.opening, *[begun + values[at] for at, begun in self.passed]]
        if length is None:
            lines.append(b"\r\nTransfer-Encoding: chunked")
        elif length or self.method in _BODIED:
            lines.append(b"\r\nContent-Length: %d" % length)
        lines.append(b"\r\n\r\n")
        return b"".join(lines)


def way_of(request: Request, passage: Passage, grant: Grant, pushed: Remote | None = None) -> Way:
    """Make a passage ready."""
    shape = request.shape
    ours = passage.headers[: len(passage.headers) - len(passage.passed)]
    opening = [f"{shape.method} {passage.target} HTTP/1.1", *map(": ".join, ours)]
    passed = [(at, f"\r\n{shape.names[at]}: ".encode("latin-1")) for at in passage.passed]
    return Way(
        passage,
        grant,
        method=shape.method,
        opening="\r\n".join(opening).encode("latin-1"),
        passed=tuple(passed),
        keys=Literals(passage.masks),
        costs=grant.kind == "provider" and grant.name in PRICES and passage.rule != "models",
        backs=Backs(passage, shape.method),
        pushed=pushed,
    )
