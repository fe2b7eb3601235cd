"""What an agent names, kept within bounds: it may name as much as it likes, the newest stay."""

from typing import TypeVar

T = TypeVar("T")

MAX_REMEMBERED = 256
"""Far more than an honest agent has open at a time."""


def remember(known: dict[str, T], name: str, what: T) -> None:
    """Keep `what` under its name; beyond `MAX_REMEMBERED` the oldest are forgotten."""
    known[name] = what
    while len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]
