"""Commands and servers of tests, forked from a process that has loaded the control plane once.

A fork runs the command line as it is, as root or as a `Stranger`. `atoll up` starts a zygote, drops
its privileges and serves. Only the exec of the zygote and that of the control plane are calls
instead.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from atoll.testing.stranger import Stranger
from atoll.testing.warm_process import Request, WarmProcess, exit_with, serve, warm_program
from atoll.zygote.host import kernel
from atoll.zygote.host.title import set_title

ZYGOTE_MODULE = "atoll.wiring.zygote"
CONTROL_MODULE = "atoll.wiring.control.serve"
COMMAND_MODULE = "atoll.surfaces.cli.entry"
HOST_MODULE = "atoll.wiring.host"
APP_MODULE = "atoll.surfaces.http.app"
LOADED = (
    *(CONTROL_MODULE, COMMAND_MODULE, HOST_MODULE),
    *("atoll.surfaces.cli.command_table", "atoll.wiring.control.assembly"),
    *(APP_MODULE, "atoll.surfaces.mcp.entry", "atoll.wiring.control.reach"),
    *("atoll.surfaces.mcp.toolbox", "atoll.surfaces.mcp.server"),
    *("mcp.server.streamable_http_manager", "joserfc.jwk", "joserfc.jws"),
    *("atoll.wiring.control.logs", "uvicorn", "uvicorn.lifespan.off", "uvloop", "alembic.command"),
    "atoll.surfaces.http.server.connections.bounded_head",
    "atoll.surfaces.http.server.connections.handover",
    "atoll.surfaces.http.server.connections.tls_entry",
    "atoll.adapters.extensions.namespaces.extension",
    "atoll.domain.repository.project_schema",
)
"""Modules that a start loads, directly or through others, and those that each server with a sandbox
loads soon after."""
COMMANDS = (
    *(f"machine.{name}" for name in ("up", "down", "doctor")),
    *(f"sandboxes.{name}" for name in ("new", "info", "destroy", "list")),
    *(f"terminals.{name}" for name in ("exec", "cp", "open")),
    "library.pull",
    *(f"people.{name}" for name in ("share", "login")),
    "dashboard",
)
"""The modules of the commands that tests run most."""

_execve = os.execve
_modules_of_zygotes: Mapping[str, ModuleType] = {}


def start_command(
    words: Sequence[str],
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    *,
    folder: str | os.PathLike[str] | None = None,
    stranger: Stranger | None = None,
) -> WarmProcess:
    """Run `atoll WORDS…` in a fork whose standard streams are copies of `streams`, in `folder` or
    the current directory. A stranger's runs in `/`."""
    request = {
        "words": list(words),
        "env": dict(env),
        "folder": os.fspath(folder or Path.cwd()),
        "stranger": stranger and asdict(stranger),
    }
    return warm_program(__name__).start(request, streams)


def _run(request: Request, fds: Sequence[int]) -> int:
    """Run `atoll WORDS…` as this process, up to its end."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    _take_environment(request["env"])
    os.chdir(request["folder"])
    if request["stranger"] is not None:
        Stranger(**request["stranger"]).become()
    os.execve = _execute  # type: ignore[assignment]
    host = sys.modules[HOST_MODULE].LocalHost
    code: int = sys.modules[COMMAND_MODULE].run(request["words"], os.environ, host)
    return code


def _execute(path: str, argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Become another program; the zygote or the control plane, which are loaded already, by a
    call."""
    modules = (ZYGOTE_MODULE, CONTROL_MODULE)
    module = next((candidate for candidate in modules if candidate in argv), None)
    if module is None or path != sys.executable:
        _execve(path, [*argv], env)
    kernel.close_others({0, 1, 2, *_inheritable_fds()})
    _take_environment(env)
    program = sys.modules[module].main
    sys.argv = [module, *argv[argv.index(module) + 1 :]]
    if module == ZYGOTE_MODULE:
        # What a runtime loads late must be found by it as it would be elsewhere.
        sys.modules.clear()
        sys.modules.update(_modules_of_zygotes)
    exit_with(program)


def _take_environment(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()


def _inheritable_fds() -> set[int]:
    fds = set()
    for path in Path("/proc/self/fd").iterdir():
        try:
            if os.get_inheritable(int(path.name)):
                fds.add(int(path.name))
        except OSError:
            continue  # That of the list itself, closed by now.
    return fds


def main() -> None:
    """Load the zygote and the control plane, and fork for each request."""
    global _modules_of_zygotes
    zygote = import_module(ZYGOTE_MODULE)
    zygote.warm_up()
    zygote.warm_up = lambda: None  # type: ignore[attr-defined]
    _modules_of_zygotes = dict(sys.modules)
    for module in (*LOADED, *(f"atoll.surfaces.cli.commands.{name}" for name in COMMANDS)):
        import_module(module)
    # To make them takes longer than all the rest of a start.
    sys.modules[APP_MODULE].shared_routes()
    # Before an environment is replaced, as a title takes the place of this one.
    set_title("tests")
    serve(int(sys.argv[2]), _run)


if __name__ == "__main__":
    main()
