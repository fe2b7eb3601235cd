"""A sandbox that is not just files: what the zygote holds of it, and what it is doing."""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from atoll.wire.zygote import messages as wire
from atoll.zygote.daemon.children import Child
from atoll.zygote.records.record import Record
from atoll.zygote.start.host_resources import Laid

Reply = Callable[[wire.Answer], None]


class Phase(Enum):
    """What a sandbox is doing."""

    BIRTH = "birth"
    ALIVE = "alive"
    BURIAL = "burial"


@dataclass(frozen=True, slots=True)
class Order:
    """A sandbox to be brought up; with `wait_seconds` somebody else builds its wall."""

    start: wire.Start
    wait_seconds: int | None = None

    @property
    def wall(self) -> wire.Wall:
        """Who builds it."""
        return "bubblewrap" if self.wait_seconds is None else "container"


@dataclass(slots=True)
class Live:
    """A sandbox that is not just files. `asked` are the starts it will answer, `mourners` the
    stops, `after` what happens once it is buried. While a wall of somebody else's is awaited,
    `builders` wait to hear that all is `laid`; then its birth is `unhurried`: it takes nobody's
    turn. `start` is the order it was made by. Once `born` its runtime may ask for commands of
    `sudo`: `runs` are under way, `asks` counts those of a minute, and to a `deaf` one nobody
    listens."""

    record: Record
    phase: Phase
    child: Child | None = None
    inside: tuple[int, ...] = ()
    doors: tuple[socket.socket, ...] = ()
    asked: list[Reply] = field(default_factory=list)
    builders: list[Reply] = field(default_factory=list)
    laid: Laid | None = None
    unhurried: bool = False
    mourners: list[Reply] = field(default_factory=list)
    after: list[Callable[[], None]] = field(default_factory=list)
    keep: bool = True
    failure: wire.Refused | None = None
    start: wire.Start | None = None
    born: bool = False
    runs: dict[int, Child] = field(default_factory=dict)
    asks: tuple[int, int] = (0, 0)
    deaf: bool = False

    @property
    def maintenance(self) -> bool:
        """Whether it was brought up only to read what it keeps."""
        return self.start is not None and self.start.maintenance_seconds is not None

    @property
    def pid(self) -> int:
        """Its runtime's; 0 without one."""
        return 0 if self.child is None else self.child.pid

    @property
    def pidfd(self) -> int | None:
        """A descriptor of its runtime."""
        return None if self.child is None else self.child.pidfd
