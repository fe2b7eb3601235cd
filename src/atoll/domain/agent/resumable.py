"""An agent that runs in a sandbox, as far as it must be known to open it again after a stop.

Kept from what the sandbox's runtime tells, so the rules here bound it: a conversation's name
comes from inside the wall, and becomes one word of an argv there.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from atoll.domain.terminal.softlock import Strictness

MAX_SEATS = 80
"""More than terminals and machines there can be at once; the oldest fall out."""

_CONVERSATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}\Z")


class Otherwise(StrEnum):
    """How an agent goes on whose conversation is not known: it starts afresh, since nothing was
    said yet; it takes up the last one there is; or never, since it cannot."""

    AFRESH = "afresh"
    LAST = "last"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class AgentSeat:
    """One running agent. `id` is its terminal's or its own, `mode` `tui` or `machine`; `asks`:
    it asks before it acts. `conversation` is the one it has, as it names it; `otherwise` says
    what a start does while none is known. `by` is who opened it, `softlock` whom its lock stops."""

    id: str
    agent: str
    mode: str
    name: str | None = None
    cwd: str | None = None
    by: str | None = None
    asks: bool = False
    otherwise: Otherwise = Otherwise.NEVER
    conversation: str | None = None
    softlock: Strictness = Strictness.OWNER


def is_conversation(word: str) -> bool:
    """Whether a word can name a conversation: never an option, a path or anything to expand."""
    return _CONVERSATION.match(word) is not None


def taken(seats: tuple[AgentSeat, ...], seat: AgentSeat) -> tuple[AgentSeat, ...]:
    """With one more."""
    return (*left(seats, seat.id), seat)[-MAX_SEATS:]


def left(seats: Iterable[AgentSeat], seat_id: str) -> tuple[AgentSeat, ...]:
    """Without one."""
    return tuple(seat for seat in seats if seat.id != seat_id)


def conversing(
    seats: Iterable[AgentSeat], seat_id: str, conversation: str
) -> tuple[AgentSeat, ...]:
    """With this conversation for one of them; a word that cannot name one changes nothing."""
    if not is_conversation(conversation):
        return tuple(seats)
    return tuple(
        replace(seat, conversation=conversation) if seat.id == seat_id else seat for seat in seats
    )
