"""The start of the command line: the quick way for what is run every minute, else the general one.

Also here: what a closed stream, a full disk and bytes that are no text mean, and on the quick way a
reader that left, an interrupt and an error.
"""

import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.exits import FAILED, INTERRUPTED, USAGE
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.dispatch.quick import Quick, quick

if TYPE_CHECKING:
    from atoll.ports.host import Host

_COMPLETING = "_ATOLL_COMPLETE"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""The errors of a place that takes no more bytes."""


def run(arguments: list[str], environ: Mapping[str, str], host: "Callable[[], Host]") -> int:
    """Run one command; returns its exit code (`exits`). `host` is called when this machine
    is touched (`up`, `down`, `doctor`, `agent`)."""
    try:
        return _run(arguments, environ, host)
    except KeyboardInterrupt:
        note("atoll: interrupted")
        return INTERRUPTED


def _run(arguments: list[str], environ: Mapping[str, str], host: "Callable[[], Host]") -> int:
    _open_streams()
    command = None if _COMPLETING in os.environ else quick(arguments)
    try:
        if command is not None:
            return _run_quick(command, environ)
        from atoll.surfaces.cli import command_table  # loaded late, see `quick`

        return command_table.run(arguments, environ, host)
    except AtollError as error:
        from atoll.surfaces.cli import command_table
        from atoll.surfaces.cli.console.invocation import Invocation

        return command_table.report(error, Invocation(host, environ))
    except OSError as error:
        return _report_os_error(error)
    except UnicodeEncodeError:
        # It may be a secret: only what kind of thing it is.
        note(
            "atoll: an argument, or a name or text that was given, is not UTF-8: write it in UTF-8"
        )
        return USAGE


def _run_quick(command: Quick, environ: Mapping[str, str]) -> int:
    gc.disable()  # this ends in a moment, and collecting takes a part of it
    try:
        return command(environ)
    except BrokenPipeError:
        # In `atoll list | head` nobody looks.
        _drop_output()
        return FAILED
    finally:
        gc.enable()


def _open_streams() -> None:
    """Open the standard streams that the caller closed (`>&-`), on nothing: a connection must not
    get the number of one, and be written to. What stdout's encoding lacks is spelled out there."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _report_os_error(error: OSError) -> int:
    """Report what this machine refused: a full disk, a file that may not be read."""
    _drop_output()
    why = error.strerror or str(error) or type(error).__name__
    what = f"cannot use {_own_name(error.filename)}" if error.filename else "cannot write"
    note(f"atoll: {what}: {why}" + (": free some space" if error.errno in _FULL else ""))
    return FAILED


def _own_name(name: object) -> str:
    """Return the name of a file as the person knows it: in place of one of Atoll's unfinished ones,
    the folder in which it was to be."""
    import re  # an error is rare, and every command loads this file

    unfinished = re.compile(r"(?:^|/)\.atoll-(?:[a-z0-9_]{8}|[0-9a-f]{16})(?:/.*)?\Z", re.DOTALL)
    whole = str(name)
    return unfinished.sub("", whole) or ("/" if whole.startswith("/") else ".")


def _drop_output() -> None:
    """Send on to nothing what Python still holds for stdout: it must not fail at its end."""
    nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
