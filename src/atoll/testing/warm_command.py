"""Commands of tests, forked from a warm process as `warm_server` does, and what they print.

Only for commands whose start is not what is tested: `atoll_command` is what people start.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from atoll.testing.stranger import Stranger
from atoll.testing.warm_process import WarmProcess
from atoll.testing.warm_server import start_command

MAX_INPUT_BYTES = 60_000
"""As much as a pipe holds that nobody reads yet."""
OPTIONS = {
    *("env", "cwd", "input", "stdin", "stdout", "stderr", "capture_output", "text", "timeout"),
    "check",
}
_FIXED_AT_START = ("LANG", "LC_", "PYTHON")


def can_run(options: Mapping[str, Any]) -> bool:
    """Return whether a command with these options of `subprocess.run` can be forked: what a
    program reads at its very start, a fork has read already."""
    env = options["env"]
    names = {name for name in (*env, *os.environ) if name.startswith(_FIXED_AT_START)}
    same = all(env.get(name) == os.environ.get(name) for name in names)
    return same and options.keys() <= OPTIONS and len(options.get("input") or "") < MAX_INPUT_BYTES


def run_command(
    words: Sequence[str], stranger: Stranger | None, options: Mapping[str, Any]
) -> "subprocess.CompletedProcess[Any]":
    """Run `atoll WORDS…` as `subprocess.run` does with these options. Raises what that raises."""
    captured, text = bool(options.get("capture_output")), bool(options.get("text"))
    with ExitStack() as stack:
        out = _output(stack, subprocess.PIPE if captured else options.get("stdout"), 1)
        err = _output(stack, subprocess.PIPE if captured else options.get("stderr"), 2)
        read = _input(stack, options)
        process = start_command(
            words, options["env"], (read, out, err), folder=options.get("cwd"), stranger=stranger
        )
        code = _await_end(process, ["atoll", *words], options.get("timeout"))
        printed = [_content(fd, text=text) if captured else None for fd in (out, err)]
    done = subprocess.CompletedProcess(["atoll", *words], code, *printed)
    if options.get("check"):
        done.check_returncode()
    return done


def _output(stack: ExitStack, where: Any, number: int) -> int:
    """Return a descriptor to write to: a file in memory for what is captured."""
    if where == subprocess.PIPE:
        made = os.memfd_create("atoll-test-output")
    elif where == subprocess.DEVNULL:
        made = os.open(os.devnull, os.O_WRONLY)
    elif where is None:
        return number
    else:
        return where if isinstance(where, int) else int(where.fileno())
    stack.callback(os.close, made)
    return made


def _input(stack: ExitStack, options: Mapping[str, Any]) -> int:
    """Return a descriptor to read from: a pipe for what is given as `input`."""
    given, where = options.get("input"), options.get("stdin")
    if given is not None:
        made, write = os.pipe()
        os.write(write, given if isinstance(given, bytes) else given.encode())
        os.close(write)
    elif where == subprocess.DEVNULL:
        made = os.open(os.devnull, os.O_RDONLY)
    elif where is None:
        return 0
    else:
        return where if isinstance(where, int) else int(where.fileno())
    stack.callback(os.close, made)
    return made


def _await_end(process: WarmProcess, argv: Sequence[str], seconds: float | None) -> int:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise subprocess.TimeoutExpired(argv, seconds or 0.0) from None
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()


def _content(fd: int, *, text: bool) -> str | bytes:
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    # As a stream of text reads it.
    return content.decode().replace("\r\n", "\n").replace("\r", "\n") if text else content
