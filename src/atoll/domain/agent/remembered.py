"""Bounded storage of values that an agent names: the newest are kept."""

from typing import TypeVar

T = TypeVar("T")

MAX_REMEMBERED = 256
"""The bound, far above what an honest agent has open at a time."""


def remember(known: dict[str, T], name: str, what: T) -> None:
    """Keep `what` under its name; beyond `MAX_REMEMBERED` drop the oldest."""
    known[name] = what
    while len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]
