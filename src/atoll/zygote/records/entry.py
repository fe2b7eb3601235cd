"""The entry of a sandbox that is not just files: its processes, its phase and its waiters."""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from atoll.wire.zygote import messages as wire
from atoll.zygote.host.children import Child
from atoll.zygote.records.record import SandboxRecord
from atoll.zygote.records.reports import RendezvousReady

Reply = Callable[[wire.Answer], None]


class Phase(Enum):
    """Phase of a sandbox."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Shape:
    """Properties that a wall was built for: a request without what can be assigned later.
    `identities` are device and inode of each folder it shows, because another folder may have
    replaced one since."""

    request: wire.Start
    etc: Path
    identities: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class StartOrder:
    """Order to start a sandbox. With `wait_seconds` a container engine builds its wall; with `link`
    it is on another machine, and only its runtime starts here."""

    start: wire.Start
    wait_seconds: int | None = None
    link: wire.Link | None = None

    @property
    def wall(self) -> wire.Wall:
        """The builder of the wall."""
        if self.link is not None:
            return "link"
        return "bubblewrap" if self.wait_seconds is None else "container"


@dataclass(slots=True)
class SandboxEntry:
    """State of a sandbox that has processes, or is about to.

    Replies wait in three lists: `start_waiters` until it runs, `rendezvous_waiters` until init may
    connect, `stop_waiters` until it stopped. `after_stop` is called then. `rendezvous` is the
    report that init may connect; from then on `slot_released` is true, because the start no longer
    counts against the limit of starts. `start` is the request that started it,
    `shape` what a pooled sandbox was built for, until it is assigned.

    Once `is_ready` the runtime may request commands of `sudo`: `sudo_runs` are running,
    `sudo_requests` is the current minute and the number of requests in it, and `sudo_ignored` is
    set for a runtime that sends invalid ones.
    """

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
    shape: Shape | None = None
    is_ready: bool = False
    sudo_runs: dict[int, Child] = field(default_factory=dict)
    sudo_requests: tuple[int, int] = (0, 0)
    sudo_ignored: bool = False

    @property
    def maintenance(self) -> bool:
        """True for a sandbox started only to read its files."""
        return self.start is not None and self.start.maintenance_seconds is not None

    @property
    def pid(self) -> int:
        """Pid of its runtime; 0 without one."""
        return 0 if self.child is None else self.child.pid

    @property
    def pidfd(self) -> int | None:
        """Pidfd of its runtime."""
        return None if self.child is None else self.child.pidfd
