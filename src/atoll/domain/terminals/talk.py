"""The talk of the people at one terminal: short lines, the newest few, kept in memory only.

Every line is a stranger's text: it is made harmless and short here, and nobody can fill the talk
faster than others read it.
"""

from collections import deque
from dataclasses import dataclass

from atoll.domain.terminals.turn import Party, TurnRefusal
from atoll.domain.unseen import is_unseen

MAX_CHARACTERS = 500
KEPT_LINES = 20
WINDOW_SECONDS = 10.0
MOST_OF_ONE = 5
MOST_OF_ALL = 20
"""The number of lines in a window: of one principal, and of everybody together."""


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """A line. `number` counts the lines of this terminal from 1."""

    number: int
    principal: str
    name: str
    text: str


class Talk:
    """The lines of one terminal. Every stimulus brings the time, in seconds on any steady scale."""

    def __init__(self) -> None:
        self._lines: deque[SpokenLine] = deque(maxlen=KEPT_LINES)
        self._said = 0
        self._recent: deque[tuple[float, str]] = deque(maxlen=MOST_OF_ALL)

    @property
    def lines(self) -> tuple[SpokenLine, ...]:
        """The newest lines, oldest first."""
        return tuple(self._lines)

    def say(self, party: Party, text: str, now: float) -> TurnRefusal | None:
        """Add a line of this party. Returns why not when it is empty, or too soon."""
        shown = _harmless(text)
        if not shown:
            return TurnRefusal("empty", "a line needs a character that can be shown")
        while self._recent and now - self._recent[0][0] >= WINDOW_SECONDS:
            self._recent.popleft()
        own = sum(principal == party.principal for _, principal in self._recent)
        if own >= MOST_OF_ONE or len(self._recent) >= MOST_OF_ALL:
            return TurnRefusal("too_fast", f"{MOST_OF_ONE} lines in 10 seconds are enough: wait")
        self._recent.append((now, party.principal))
        self._said += 1
        self._lines.append(SpokenLine(self._said, party.principal, party.name, shown))
        return None


def _harmless(text: str) -> str:
    """Return the line in one piece, without characters that show nothing of themselves."""
    blank = "".join(" " if one.isspace() else one for one in text)
    shown = (one for one in blank if one.isprintable() and not is_unseen(one))
    return "".join(shown).strip()[:MAX_CHARACTERS]
