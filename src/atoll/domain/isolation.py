"""What a wall truly gives: said on every sandbox, never embellished."""

from dataclasses import dataclass
from enum import StrEnum


class IsolationLevel(StrEnum):
    """How strong the wall is, weakest first."""

    NONE = "none"
    POLICY = "policy"
    CONTAINER = "container"
    MICROVM = "microvm"


@dataclass(frozen=True, slots=True)
class Isolation:
    """The wall of one sandbox. `degraded` names each limit this host cannot give, with why
    (`"memory: no delegated cgroup"`); `weak` means it runs only because someone asked."""

    level: IsolationLevel
    mechanism: str
    degraded: tuple[str, ...] = ()
    weak: bool = False
    host_uid: int | None = None
    init: str = ""
