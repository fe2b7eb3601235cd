"""Whether the control plane is there, as far as one runtime can know it (design R4). Pure.

A driver can only come back through the control plane. While it is away, the grace of a driver
who left does not end; once it answers again, the grace begins anew.
"""

from dataclasses import dataclass, field

AWAY_SECONDS = 120.0
"""A driver is waited for at most so long while the control plane is away."""


@dataclass(slots=True)
class Contact:
    """The control plane's connections, each by a number of its own. A runtime that was never
    asked anything has no control plane that could be away."""

    away_seconds: float = AWAY_SECONDS
    _open: set[int] = field(default_factory=set)
    _met: bool = False

    @property
    def away(self) -> bool:
        """Whether there was a control plane and its last connection is closed."""
        return self._met and not self._open

    def asked(self, connection: int) -> bool:
        """The control plane asked something on this connection. Returns whether it had been
        away."""
        returned = self.away
        self._open.add(connection)
        self._met = True
        return returned

    def closed(self, connection: int) -> None:
        """This connection has ended; one that is not known changes nothing."""
        self._open.discard(connection)

    def cut(self) -> None:
        """The control plane let go of a client without a reason: it is away until it asks again,
        whatever is known of its connections."""
        self._open.clear()
        self._met = True

    def held_until(self, left_at: float) -> float | None:
        """When the grace of a driver who left at `left_at` ends at the earliest, on the same
        scale; None while the control plane is there."""
        return left_at + self.away_seconds if self.away else None
