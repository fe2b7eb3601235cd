"""Presence of the control plane, as far as one runtime can know it. Pure.

A driver can only come back through the control plane. While it is away, the grace of a driver who
left does not end; once it answers again, the grace begins anew.
"""

from dataclasses import dataclass, field

AWAY_SECONDS = 120.0
"""The longest wait for a driver while the control plane is away."""


@dataclass(slots=True)
class Contact:
    """The control plane's connections, each by a number of its own. A runtime that never received a
    request has no control plane that could be away."""

    _away_seconds: float = AWAY_SECONDS
    _open: set[int] = field(default_factory=set)
    _met: bool = False

    @property
    def away(self) -> bool:
        """True if there was a control plane and its last connection is closed."""
        return self._met and not self._open

    def asked(self, connection: int, away_seconds: float = AWAY_SECONDS) -> bool:
        """Record a request of the control plane on this connection. Drivers are waited for
        `away_seconds` once it is away. Returns whether it had been away."""
        returned = self.away
        self._away_seconds = away_seconds
        self._open.add(connection)
        self._met = True
        return returned

    def closed(self, connection: int) -> None:
        """Record the end of this connection; an unknown one changes nothing."""
        self._open.discard(connection)

    def cut(self) -> None:
        """Record that the control plane dropped a client without a reason. It counts as away until
        its next request, whatever is known of its connections."""
        self._open.clear()
        self._met = True

    def held_until(self, left_at: float) -> float | None:
        """Return the earliest end of the grace of a driver who left at `left_at`, on the same
        scale; None while the control plane is there."""
        return left_at + self._away_seconds if self.away else None
