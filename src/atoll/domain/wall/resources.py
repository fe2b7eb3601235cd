"""The limits that a wall gives one sandbox."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Resources:
    """The limits of one sandbox; None takes the host's default. `files` bounds what each process
    may have open."""

    cpu: float | None = None
    memory_mb: int | None = None
    pids: int | None = None
    ptys: int | None = None
    workspace_mb: int | None = None
    files: int | None = None


NO_LIMITS: Final = Resources()
