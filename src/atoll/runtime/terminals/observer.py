"""Observers of everything that passes one terminal: recordings, marks, searches.

All of it passes here after the output stage: an observer sees what viewers see, and never more.
An observer is called on the event loop, must not block, and may not refuse anything.
"""

from dataclasses import dataclass
from typing import Protocol, Self

from atoll.domain.terminals.size import Size
from atoll.domain.terminals.turn import Party
from atoll.wire.attach import Exited


@dataclass(frozen=True, slots=True)
class Author:
    """Author of input: the principal's id, a name to show, and the client id of their
    connection."""

    principal: str
    name: str
    client: str

    @classmethod
    def of(cls, party: Party) -> Self:
        """Return the author behind a client."""
        return cls(party.principal, party.name, party.client)


class Observer(Protocol):
    """Observer of one terminal, called in the order things happened."""

    def showed(self, data: bytes) -> None:
        """Receive output, as it went into the ring."""
        ...

    def typed(self, author: Author, data: bytes) -> None:
        """Receive input that was accepted and goes to the program."""
        ...

    def resized(self, size: Size) -> None:
        """Receive the size the PTY has now."""
        ...

    def ended(self, ending: Exited) -> None:
        """Receive the end; nothing follows."""
        ...
