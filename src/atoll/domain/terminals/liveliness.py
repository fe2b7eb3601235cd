"""The drawing of an agent at its terminal, as a sign that its turn still runs.

Agents draw all the time while they work: a spinner, or a counter of seconds. So one that did, and
then draws nothing more, is at its turn no longer, also where the report of that end was lost. An
agent that never drew so says nothing by its silence. Pure: times are seconds on any steady scale.
"""

QUIET_SECONDS = 4.0
"""The silence after which a turn is over."""
STREAK_SECONDS = 3
"""Drawing in each of so many seconds in a row shows that the agent draws while it works."""

ECHO_SECONDS = 0.5
"""The time in which output is taken for the echo of a key, or the redrawing at another size."""
IDLE_SECONDS = 5.0
"""The silence after which an agent that reports nothing of itself is taken for idle."""


class Liveliness:
    """The drawing of one agent within its turn."""

    __slots__ = ("_drawn", "_lively", "_second", "_streak")

    def __init__(self) -> None:
        self._drawn = 0.0
        self._second = -1
        self._streak = 0
        self._lively = False

    def began(self) -> None:
        """Begin a turn."""
        self._second, self._streak, self._lively = -1, 0, False

    def drew(self, now: float) -> None:
        """Record that the agent drew something."""
        self._drawn = now
        second = int(now)
        if second == self._second:
            return
        self._streak = self._streak + 1 if second == self._second + 1 else 1
        self._second = second
        self._lively = self._lively or self._streak >= STREAK_SECONDS

    def interrupted(self, now: float) -> None:
        """Record that a person interrupted the agent: its silence says something from now on."""
        self._drawn, self._lively = now, True

    @property
    def deadline(self) -> float | None:
        """The time at which the turn is over if nothing more is drawn; None while silence says
        nothing."""
        return self._drawn + QUIET_SECONDS if self._lively else None

    def over(self, now: float) -> bool:
        """Report whether the agent is silent for so long that its turn is over."""
        return self.deadline is not None and now >= self.deadline


class OutputActivity:
    """The output of an agent that reports nothing of itself: whether it goes on, or is quiet.

    What follows a key or a new size at once is their echo, and says nothing of the agent.
    """

    __slots__ = ("_caused", "_drawn", "active")

    def __init__(self) -> None:
        self._caused = -ECHO_SECONDS
        self._drawn = 0.0
        self.active = False

    def caused(self, now: float) -> None:
        """Record that somebody typed, or that the size changed."""
        self._caused = now

    def drew(self, now: float) -> bool:
        """Record output. Returns whether the agent is active, where it was not before."""
        if now < self._caused + ECHO_SECONDS:
            return False
        self._drawn = now
        begins, self.active = not self.active, True
        return begins

    @property
    def deadline(self) -> float | None:
        """The time at which it is quiet if nothing more is drawn; None while it is."""
        return self._drawn + IDLE_SECONDS if self.active else None

    def tick(self, now: float) -> bool:
        """Look at the time. Returns whether the agent is quiet, where it was not before."""
        if self.deadline is None or now < self.deadline:
            return False
        self.active = False
        return True
