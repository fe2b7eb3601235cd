"""The Spawner port: starts processes in the sandbox (runtime side).

One implementation speaks to the init inside (namespaces, containers); another starts
the same init as a plain child (pods, tests). Descriptors are owned by whoever holds them.
"""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.terminals.size import Size

Taken = Callable[[int], None]
"""Called with how many more typed bytes of one sender the program has taken."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """Process to start inside. `env` is the whole environment, not an addition. `stdin`, `stdout`
    and `stderr` are descriptors of this process; the spawner duplicates, never closes them. With
    `tty` the process becomes session leader with `stdin` as its controlling terminal. With `lead`
    too, it becomes the foreground job of a leader that is no shell: a stop of the process leaves
    the terminal quiet, and the leader ends as the process ends."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    cwd: str
    stdin: int
    stdout: int
    stderr: int
    tty: bool = False
    lead: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """End of a process: exactly one of `code` (0-255) and `signal` is set."""

    code: int | None
    signal: int | None
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    max_rss_kib: int = 0


class PtyMaster(Protocol):
    """A terminal that is read and typed at, on the running loop.

    Reading begins with `resume`. `taking`: a turn of reading is under way."""

    taking: bool

    @property
    def closed(self) -> bool:
        """True when the terminal is closed."""
        ...

    @property
    def echo_off(self) -> bool:
        """True when the line discipline reads lines without echoing them."""
        ...

    def resume(self) -> None:
        """Read whatever comes."""
        ...

    def unpause(self) -> None:
        """Undo `pause`; unlike `resume` it leaves a hung-up terminal its time."""
        ...

    def pause(self) -> None:
        """Stop reading: the program blocks once the buffers on the way are full."""
        ...

    def write(self, data: bytes, taken: Taken = ...) -> bool:
        """Type `data`, all of it or nothing: False when too much is waiting already. `taken` is
        called as the program's side takes it."""
        ...

    def resize(self, size: Size) -> None:
        """Set the size; the foreground program is signalled when it differs."""
        ...

    def interrupt(self, number: signal.Signals) -> None:
        """Signal the foreground process group; INT and QUIT only."""
        ...

    def close(self) -> None:
        """Close the terminal; processes on the other side receive a hang-up. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class PtyReader:
    """The receiver of a terminal's output. `data` gets it piece by piece, `turn` runs when there
    is no more of it for now, and `hangup` each time no process holds the other side, which a
    process inside may open again. `throttled` returns whether reading must leave time for others.
    """

    data: Callable[[bytes], None]
    turn: Callable[[], None]
    hangup: Callable[[], None]
    throttled: Callable[[], bool]


class Pty(Protocol):
    """A terminal from the sandbox's own devpts, before it is read. Its holder passes `slave` to
    `spawn` and then closes that side, or the end of the program would never show."""

    @property
    def slave(self) -> int:
        """Descriptor for a `ProcessSpec`."""
        ...

    @property
    def lasting(self) -> int | None:
        """The number by which a later runtime finds this terminal again; None where it ends with
        this one."""
        ...

    @property
    def window_bytes(self) -> int:
        """The most output that is on its way here while reading is paused, beyond the kernel's own
        buffer. It comes when the program has ended, whether or not there is a reader."""
        ...

    def close_slave(self) -> None:
        """Close our copy of the program's side. Idempotent."""
        ...

    def open(self, reader: PtyReader) -> PtyMaster:
        """Return the terminal, which is the caller's to close from now on. Called once."""
        ...

    def close(self) -> None:
        """Close both sides, unless `open` gave the terminal away. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class FileStat:
    """The mode of an open file, as stat(2) gives it, and its size in bytes."""

    mode: int
    size: int


class InsideFile(Protocol):
    """An open file of the sandbox. Raises `OSError` as the kernel inside does."""

    async def stat(self) -> FileStat:
        """Return mode and size."""
        ...

    async def read(self, start: int, length: int) -> bytes:
        """Return bytes from `start`, at most `length`; empty at the end of the file."""
        ...

    async def write(self, data: bytes) -> None:
        """Write all of `data` after what was written before."""
        ...

    def close(self) -> None:
        """Close the file. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class LeftRunning:
    """A process whose program has ended: its pid inside and the start of its command line,
    which it chose itself."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Processes that programs left running; `more` when there are more than are listed."""

    processes: tuple[LeftRunning, ...]
    more: bool


class Process(Protocol):
    """A started process and everything it starts."""

    @property
    def pid(self) -> int:
        """Process id inside the sandbox."""
        ...

    async def wait(self) -> Exit:
        """Wait for the end and return it; may be awaited by many, and after the fact."""
        ...

    async def signal(self, number: int, *, tree: bool = False) -> None:
        """Signal the process group, or with `tree` every descendant, daemons too. A process already
        gone is not an error."""
        ...


class Spawner(Protocol):
    """Starter of processes inside. Raises `Invalid` (no such program or directory, named),
    `Unavailable` (the wall is gone)."""

    async def spawn(self, spec: ProcessSpec) -> Process:
        """Start a process. Returns once it runs."""
        ...

    async def open_pty(self, *, cols: int, rows: int) -> Pty:
        """Open a terminal. Raises `LimitReached` when the sandbox has no PTY left."""
        ...

    async def open_file(self, path: str, flags: int, mode: int = 0o644) -> InsideFile:
        """Open a file inside, beneath the workspace (openat2 RESOLVE_BENEATH | NO_MAGICLINKS,
        O_NOCTTY | O_NONBLOCK | O_CLOEXEC added). `path` is relative; the caller closes the file.
        Raises `NotFound`, `Invalid`, `Forbidden`."""
        ...

    def tool(self, *args: str) -> tuple[str, ...]:
        """Return the argv that runs the init binary in one of its tree modes (`list`, `tar`, …)."""
        ...

    async def left_running(self) -> Leftovers:
        """List the processes left running by programs that ended."""
        ...

    async def end_left_running(self) -> None:
        """Kill the processes left running, and wait until they are gone. Running programs stay."""
        ...

    async def close(self) -> None:
        """End everything inside."""
        ...
