"""The start of the command line: the quick way for what is run every minute, else the general one.

Also here: what a reader that left, an interrupt and an error mean on the quick way.
"""

import gc
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.exits import FAILED, INTERRUPTED
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.dispatch.quick import Quick, quick

if TYPE_CHECKING:
    from atoll.ports.host import Host

_COMPLETING = "_ATOLL_COMPLETE"


def run(arguments: list[str], environ: Mapping[str, str], host: "Callable[[], Host]") -> int:
    """Run one command; returns its exit code (`exits`). `host` is called when this machine
    is touched (`up`, `down`, `doctor`, `agent`)."""
    found = None if _COMPLETING in os.environ else quick(arguments)
    try:
        if found is not None:
            return _quickly(found, environ)
        from atoll.surfaces.cli import command_table  # loaded late, see `quick`

        return command_table.run(arguments, environ, host)
    except AtollError as error:
        from atoll.surfaces.cli import command_table
        from atoll.surfaces.cli.console.invocation import Invocation

        return command_table.report(error, Invocation(host, environ, arguments[1:2]))


def _quickly(command: Quick, environ: Mapping[str, str]) -> int:
    gc.disable()  # this ends in a moment, and collecting takes a part of it
    try:
        return command(environ)
    except KeyboardInterrupt:
        note("atoll: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # In `atoll list | head` nobody looks; what Python still holds must not fail at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stdout.fileno())
        return FAILED
    finally:
        gc.enable()
