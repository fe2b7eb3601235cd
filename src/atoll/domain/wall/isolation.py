"""The isolation that a wall truly gives: shown on every sandbox, never overstated."""

from dataclasses import dataclass
from typing import Final

from atoll.wire.words.walls import IsolationLevel

STRENGTH: Final = tuple(IsolationLevel)
"""The levels, weakest first."""

WEAKENING: Final = frozenset(
    {"uid", "capabilities", "privileges", "memory", "pids", "disk", "daemon", "runtime"}
)
"""The limits that protect the host and other sandboxes; `daemon` means that nobody could ask for
them. Without one of these a wall is weak; without others (processor time, swap) it is degraded."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The wall of one sandbox. `degraded` names each limit this host cannot give, with why
    (`"memory: no delegated cgroup"`)."""

    level: IsolationLevel
    mechanism: str
    degraded: tuple[str, ...] = ()
    host_uid: int | None = None
    init: str = ""

    @property
    def weak(self) -> bool:
        """True if a part that protects the host is missing."""
        missing = {note.partition(":")[0] for note in self.degraded}
        return not reaches(self.level, IsolationLevel.CONTAINER) or bool(missing & WEAKENING)


def reaches(given: IsolationLevel, wanted: IsolationLevel) -> bool:
    """Report whether one level is at least as strong as another."""
    return STRENGTH.index(given) >= STRENGTH.index(wanted)


def shortfall(isolation: Isolation, required: IsolationLevel | None) -> str:
    """Return why a wall is not what an installation requires; empty where it is. A requirement of
    any wall at all excludes weak ones."""
    if required is None or required is IsolationLevel.NONE:
        return ""
    if not reaches(isolation.level, required):
        return f"its isolation is {isolation.level}"
    return f"its wall is weak ({'; '.join(isolation.degraded)})" if isolation.weak else ""
