"""The Host port: operations on the machine that the command line runs on.

Starting and ending Atoll here, installing agents, and saying what walls this machine can
build. Everything else the command line does goes through the HTTP API.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, Protocol

from atoll.ports.agents import AgentShelf
from atoll.ports.database import Database
from atoll.ports.images import ImageBuilder, ImageShelf
from atoll.ports.outside.local_wall import DesktopOptions, LocalWall

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of `atoll up`. `home` is absolute; `port` 0 takes the last one, else any free one.

    `port`, `host`, `public_url` and `tls` (the files of a certificate and its key) take precedence
    over the settings. `lan` listens on this machine's address in its local network. `replica` names
    a further control plane on the same home.
    """

    home: Path
    port: int | None = None
    browser: bool = True
    host: str | None = None
    public_url: str | None = None
    tls: tuple[Path, Path] | None = None
    lan: bool = False
    replica: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check of this machine: `ok`; `warn`, a limit sandboxes will lack; `fail`, no
    safe sandbox is possible. `fix` says what to do, empty when nothing is needed."""

    name: str
    level: Level
    text: str
    fix: str = ""


class Host(Protocol):
    """The machine this process runs on. Raises `Failed` with what is missing, `Unavailable` to try
    again."""

    def up(self, options: UpOptions) -> NoReturn:
        """Start the zygote unless it runs, then become the control plane: this process executes
        another program and, as root, drops its privilege. Raises `Conflict` when a control plane
        runs already."""
        ...

    def down(self, home: Path) -> None:
        """End all control planes, every sandbox and the zygote of `home`; files are kept.
        Nothing running is not an error."""
        ...

    def doctor(self, home: Path, *, public: bool = False) -> Sequence[Finding]:
        """Check the machine without changing anything; with `public` the settings that a home needs
        where strangers reach it."""
        ...

    def build_vm(self, home: Path, packages: Sequence[str], say: Callable[[str], None]) -> str:
        """Make the image of `ext.microvm`, with these Debian packages too, and boot it once;
        returns how its guests run. `say` receives a line for each step."""
        ...

    def desktop(self, options: DesktopOptions) -> LocalWall:
        """Return the wall that workers have on this machine, as a person's desktop. Raises `Failed`
        where it cannot be built, or the agent's program is not found."""
        ...

    def agents(self, home: Path) -> AgentShelf:
        """Return the agents installed in `home`, which need not exist yet."""
        ...

    def images(self, home: Path) -> ImageShelf:
        """Return the roots unpacked in `home`, which need not exist yet."""
        ...

    def builder(self, home: Path) -> ImageBuilder:
        """Return the builder of the Dockerfiles of `home`. Raises `Invalid` for settings that are
        wrong."""
        ...

    def database(self, home: Path) -> Database:
        """Return the database of `home`. Its use raises `Invalid` for settings that are wrong, and
        for a home that cannot be made."""
        ...
