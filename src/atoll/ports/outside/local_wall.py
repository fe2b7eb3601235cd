"""The wall of a person's own desktop: how runtimes of workers start there, and what it lacks."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.wall.isolation import Isolation
from atoll.ports.runtime import RuntimeClient


@dataclass(frozen=True, slots=True)
class DesktopOptions:
    """Options of `atoll desktop run`. `bare` is no wall at all. `workspace` is the directory that
    every worker works in, else each has its own. `program` is the agent's, else it is searched for.
    `passed` are variables of this person that agents receive, `host_ports` the ports of this
    machine that they reach from behind the wall."""

    bare: bool = False
    workspace: Path | None = None
    program: Path | None = None
    passed: tuple[tuple[str, str], ...] = ()
    host_ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalRuntime:
    """A runtime on this machine; `lives` reports whether its process does. `url` and `token` are
    how a terminal of its person reaches it."""

    client: RuntimeClient
    lives: Callable[[], bool]
    url: str = ""
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class LocalWall:
    """The wall of this machine. `start` makes a runtime whose files are in a directory
    (`workspace`, `journal`, `home`), and ends all of it on leaving; raises `Failed`."""

    isolation: Isolation
    start: Callable[[Path], AbstractAsyncContextManager[LocalRuntime]]
