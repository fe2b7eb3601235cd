"""The Spawner port: starts processes in the sandbox (runtime side).

One implementation speaks to the init inside (namespaces, containers); another starts
the same init as a plain child (pods, tests). Descriptors are owned by whoever holds them.
"""

from dataclasses import dataclass
from typing import Protocol


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


@dataclass(frozen=True, slots=True)
class Pty:
    """A pair from the sandbox's own devpts. The receiver owns and closes both."""

    master: int
    slave: int


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

    async def open_file(self, path: str, flags: int, mode: int = 0o644) -> int:
        """Open a file inside, beneath the workspace (openat2 RESOLVE_BENEATH | NO_MAGICLINKS,
        O_NOCTTY | O_NONBLOCK | O_CLOEXEC added). `path` is relative. Raises `NotFound`,
        `Invalid`, `Forbidden`; returns a descriptor the caller owns."""
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
