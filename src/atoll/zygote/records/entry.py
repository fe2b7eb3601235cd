"""A sandbox that is not just files: what the zygote holds of it, and what it is doing."""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from atoll.wire.zygote import messages as wire
from atoll.zygote.daemon.children import Child
from atoll.zygote.records.record import SandboxRecord
from atoll.zygote.start.host_resources import RendezvousReady

Reply = Callable[[wire.Answer], None]


class Phase(Enum):
    """What a sandbox is doing."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class StartOrder:
    """A sandbox to be brought up; with `wait_seconds` somebody else builds its wall."""

    start: wire.Start
    wait_seconds: int | None = None

    @property
    def wall(self) -> wire.Wall:
        """Who builds it."""
        return "bubblewrap" if self.wait_seconds is None else "container"


@dataclass(slots=True)
class SandboxEntry:
    """A sandbox that is not just files. `start_waiters` are the starts it will answer,
    `stop_waiters` the stops, `after_stop` what happens once it is buried. While a wall of somebody
    else's is awaited, `rendezvous_waiters` wait to hear that all is `rendezvous`; then its birth is
    `slot_released`: it takes nobody's turn. `start` is the order it was made by. Once `is_ready`
    its runtime may ask for commands of `sudo`: `sudo_runs` are under way, `sudo_requests` counts
    those of a minute, and to a `sudo_ignored` one nobody listens."""

    record: SandboxRecord
    phase: Phase
    child: Child | None = None
    inside_pidfds: tuple[int, ...] = ()
    doors: tuple[socket.socket, ...] = ()
    start_waiters: list[Reply] = field(default_factory=list)
    rendezvous_waiters: list[Reply] = field(default_factory=list)
    rendezvous: RendezvousReady | None = None
    slot_released: bool = False
    stop_waiters: list[Reply] = field(default_factory=list)
    after_stop: list[Callable[[], None]] = field(default_factory=list)
    keep: bool = True
    failure: wire.Refused | None = None
    start: wire.Start | None = None
    is_ready: bool = False
    sudo_runs: dict[int, Child] = field(default_factory=dict)
    sudo_requests: tuple[int, int] = (0, 0)
    sudo_ignored: bool = False

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
