"""The places of this machine's init and link, and the argv that starts them.

The static C ones lie beside this file when the build had a compiler; otherwise the Python twins
replace them. This file starts nothing.
"""

import platform
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
_ENTRY = "from twin.entry import main\nmain()\n"
_LINK_ENTRY = "from atoll.inside.link.entry import main\nmain()\n"
INSIDE_BINARY = "/.atoll/init"
INSIDE_TWIN = "/.atoll/init.py"
INSIDE_PYTHON = "/usr/bin/python3"
CONTROL_FD = 3
DOORS = (8082, 3128)
"""The ports of the broker and the egress proxy."""


def init_binary() -> Path | None:
    """Return the static init for this machine's architecture, or None when it was not built."""
    return _binary("init")


def link_binary() -> Path | None:
    """Return the static link for this machine's architecture, or None when it was not built."""
    return _binary("link")


def write_twin(target: Path) -> None:
    """Pack the Python init as one file that `python3 -I -S` runs (a zip, whatever its name)."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for source in sorted((HERE / "twin").glob("*.py")):
            packed.write(source, f"twin/{source.name}")
        packed.writestr("__main__.py", _ENTRY)


def write_link_twin(target: Path) -> None:
    """Pack the Python link as one file that `python3 -I -S` runs, with the protocol it speaks."""
    package = HERE.parent
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for folder in ("inside/link", "wire/link"):
            for source in sorted((package / folder).glob("*.py")):
                packed.write(source, f"atoll/{folder}/{source.name}")
        for parent in ("atoll", "atoll/inside", "atoll/wire"):
            packed.writestr(f"{parent}/__init__.py", "")
        packed.writestr("__main__.py", _LINK_ENTRY)


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


def host_link_program(*, twin: bool = False) -> tuple[str, ...]:
    """Return the words by which this machine runs a link directly."""
    binary = None if twin else link_binary()
    if binary is not None:
        return (str(binary),)
    return (
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys\nsys.path.insert(0, {str(HERE.parent.parent)!r})\n{_LINK_ENTRY}",
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


def _binary(name: str) -> Path | None:
    path = HERE / "bin" / f"{name}-{platform.machine()}"
    return path if path.is_file() else None
