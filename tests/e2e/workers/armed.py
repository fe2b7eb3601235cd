"""`atoll` with a control plane that kills itself at one step of a worker's request.

`python armed.py ATOLL up …`: `ATOLL_TEST_KILL` names the step as `module:Class.method:before`, and
it is armed once the file `ATOLL_TEST_KILL_AT` is there. A test puts this before its command.
"""

import functools
import importlib
import os
import runpy
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CONTROL = "atoll.wiring.control.serve"
real_execve = os.execve


def execve(path: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Put this program in the place of the control plane's module."""
    words = list(argv)
    if CONTROL in words:
        at = words.index(CONTROL)
        words[at - 1 : at + 1] = [str(Path(__file__).resolve()), CONTROL]
    real_execve(path, words, dict(env))


def arm() -> None:
    """Make the step the last thing that the control plane does, once it is armed."""
    module, name, when = os.environ["ATOLL_TEST_KILL"].split(":")
    owner, _, method = name.partition(".")
    place = getattr(importlib.import_module(module), owner)
    real = getattr(place, method)

    def die() -> None:
        if Path(os.environ["ATOLL_TEST_KILL_AT"]).exists():
            os.kill(os.getpid(), signal.SIGKILL)

    @functools.wraps(real)
    async def armed(*given: Any, **named: Any) -> Any:
        if when == "before":
            die()
        result = await real(*given, **named)
        die()
        return result

    setattr(place, method, armed)


if sys.argv[1] == CONTROL:
    del sys.argv[0]
    arm()
    runpy.run_module(CONTROL, run_name="__main__", alter_sys=True)
else:
    del sys.argv[0]
    os.execve = execve  # type: ignore[assignment]
    runpy.run_path(sys.argv[0], run_name="__main__")
