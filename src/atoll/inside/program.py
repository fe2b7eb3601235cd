"""The place of this machine's init, and the argv that starts it.

The static C one lies beside this file when the build had a compiler; otherwise the Python `twin`
replaces it. This file starts nothing.
"""

import platform
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
_ENTRY = "from twin.entry import main\nmain()\n"
INSIDE_BINARY = "/.atoll/init"
INSIDE_TWIN = "/.atoll/init.py"
INSIDE_PYTHON = "/usr/bin/python3"
CONTROL_FD = 3
DOORS = (8082, 3128)
"""The ports of the broker and the egress proxy."""


def init_binary() -> Path | None:
    """Return the static init for this machine's architecture, or None when it was not built."""
    path = HERE / "bin" / f"init-{platform.machine()}"
    return path if path.is_file() else None


def write_twin(target: Path) -> None:
    """Pack the Python init as one file that `python3 -I -S` runs (a zip, whatever its name)."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for source in sorted((HERE / "twin").glob("*.py")):
            packed.write(source, f"twin/{source.name}")
        packed.writestr("__main__.py", _ENTRY)


def inside_program(*, twin: bool = False) -> tuple[str, ...]:
    """Return the words by which a sandbox names its init: the copied binary, or the twin and its
    interpreter."""
    return (INSIDE_PYTHON, "-I", "-S", INSIDE_TWIN) if twin else (INSIDE_BINARY,)


def host_program(*, twin: bool = False) -> tuple[str, ...]:
    """Return the words by which this machine starts its init directly (tests, pods)."""
    binary = None if twin else init_binary()
    if binary is not None:
        return (str(binary),)
    return (
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\n{_ENTRY}",
    )


def init_argv(
    program: tuple[str, ...],
    *,
    control_fd: int = CONTROL_FD,
    doors: tuple[int, ...] = DOORS,
    root: str = "/workspace",
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
