"""Servers of tests, forked from a process that has loaded the control plane once.

A fork runs the command `atoll up` as it is: it starts a zygote by exec, drops its privileges and
serves. Only the exec of the control plane is a call instead.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from atoll.surfaces.cli import entry
from atoll.testing.warm_process import Request, WarmProcess, exit_with, serve, warm_program
from atoll.wiring.control import serve as control
from atoll.wiring.host import CONTROL_MODULE, LocalHost
from atoll.zygote.host import kernel
from atoll.zygote.host.title import set_title

LOADED = (
    *("atoll.wiring.host", "atoll.surfaces.cli.command_table", "atoll.wiring.control.assembly"),
    *("atoll.surfaces.http.app", "atoll.surfaces.mcp.entry", "atoll.wiring.control.reach"),
    *("atoll.wiring.control.logs", "uvicorn", "uvicorn.lifespan.off", "uvloop", "alembic.command"),
    "atoll.surfaces.http.server.connections.bounded_head",
    "atoll.surfaces.http.server.connections.handover",
    "atoll.surfaces.http.server.connections.tls_entry",
)
"""Modules that a start loads, directly or through others."""


def start_server(words: Sequence[str], env: Mapping[str, str], log: int) -> WarmProcess:
    """Run `atoll WORDS…` in a fork that writes to the descriptor `log`."""
    request = {"words": list(words), "env": dict(env), "cwd": str(Path.cwd())}
    return warm_program(__name__).start(request, [log])


def _run(request: Request, fds: Sequence[int]) -> int:
    """Run `atoll WORDS…` as this process, up to its end."""
    for number in (1, 2):
        os.dup2(fds[0], number)
    os.close(fds[0])
    _take_environment(request["env"])
    os.chdir(request["cwd"])
    os.execve = _execute  # type: ignore[assignment]
    return entry.run(request["words"], os.environ, LocalHost)


_execve = os.execve


def _execute(path: str, argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Become another program; the control plane, which is loaded already, by a call."""
    if CONTROL_MODULE not in argv:
        _execve(path, [*argv], env)
    kernel.close_others({0, 1, 2, *_inheritable_fds()})
    _take_environment(env)
    arguments = argv[argv.index(CONTROL_MODULE) + 1 :]
    sys.argv = [CONTROL_MODULE, *arguments]
    exit_with(lambda: control.main(arguments))


def _take_environment(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()


def _inheritable_fds() -> set[int]:
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        try:
            if os.get_inheritable(int(path.name)):
                found.add(int(path.name))
        except OSError:
            continue  # That of the list itself, closed by now.
    return found


def main() -> None:
    """Load the control plane, and fork it for each request."""
    for module in LOADED:
        import_module(module)
    # Before an environment is replaced, as a title takes the place of this one.
    set_title("tests")
    serve(int(sys.argv[2]), _run)


if __name__ == "__main__":
    main()
