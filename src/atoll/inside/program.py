"""The programs that run inside the wall, and the argv that starts them: init and the link.

They are static, and compiled from `native/` for each architecture. This file starts nothing.
"""

import platform
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.domain.wall.interior import DOORS
from atoll.wire.words.walls import WORKSPACE

BIN = Path(__file__).parent / "bin"
ARCHITECTURES = ("x86_64", "aarch64")
INSIDE_INIT = "/.atoll/init"
"""Path of the init inside a sandbox."""
INIT_KIND = "c"
"""Name of the one kind of init, in an isolation."""
CONTROL_FD = 3


def init_binary(architecture: str = "") -> Path:
    """Return the init for an architecture, by default this machine's. Raises `Failed` when it was
    not built."""
    return _binary("init", architecture)


def link_binary(architecture: str = "") -> Path:
    """Return the link for an architecture, by default this machine's. Raises `Failed` when it was
    not built."""
    return _binary("link", architecture)


def init_argv(
    program: tuple[str, ...],
    *,
    control_fd: int = CONTROL_FD,
    doors: tuple[int, ...] = DOORS,
    root: str = WORKSPACE,
    nproc: int | None = None,
) -> tuple[str, ...]:
    """Return the whole command line of an init.

    `nproc` bounds the processes of its commands by RLIMIT_NPROC (for machines without a pids
    cgroup); init and its wardens are exempt.
    """
    return (
        *program,
        *("--control-fd", str(control_fd), "--root", root),
        *(word for port in doors for word in ("--door", str(port))),
        *(() if nproc is None else ("--nproc", str(nproc))),
    )


def _binary(name: str, architecture: str) -> Path:
    path = BIN / f"{name}-{architecture or platform.machine()}"
    if not path.is_file():
        raise Failed(f"{path} is missing: install gcc and run scripts/install")
    return path
