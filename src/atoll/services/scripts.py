"""Running one of our own scripts inside a sandbox, through the runtime contract.

The script is a constant of this program; what varies is handed over as positional
arguments, so nothing a person or an agent wrote is ever part of a command line. Nor do the
variables of the sandbox's programs count (`domain.wall.own_environment`).
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from atoll.domain.errors import Failed, Invalid, LimitReached
from atoll.domain.unseen import replace_unseen
from atoll.ports.runtime import RuntimeClient, RuntimeStream
from atoll.wire.contract.execs import ExecBody, stream_exec
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.walls import WORKSPACE

NO_SUCH_PROGRAM = 127
"""The code with which a shell ends that does not find a program (POSIX, 2.8.2)."""

_CHECK = """\
command -v {0} > /dev/null || {{ echo '{0}: not found' >&2; exit 127; }}
"""

MAX_LINE_BYTES = 1024 * 1024
MAX_KEPT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Script:
    """A POSIX shell script, what it is for (a verb phrase, for messages) and its time limit. One
    that only looks is `unrecorded`: no event tells of it, and it is no activity. Without one of
    `programs` it would find nothing where there is something, so it does not begin."""

    purpose: str
    text: str
    seconds: float = 900.0
    unrecorded: bool = False
    programs: tuple[str, ...] = ()

    @property
    def guarded(self) -> str:
        """Text of the script, after a check of its programs."""
        return "".join(map(_CHECK.format, self.programs)) + self.text


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a script. `said` is the end of its standard error, in printable characters."""

    code: int
    out: bytes
    said: str


class _Exit(msgspec.Struct):
    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False


class _Line(msgspec.Struct):
    stream: str | None = None
    data: str = ""
    exit: _Exit | None = None


def read_count(text: str) -> int | None:
    """Return the number that a script printed; None for anything else. An agent may have written
    it: more than 15 digits are no number here, and Python reads no more than 4,300."""
    plain = text.isascii() and text.isdecimal() and len(text) <= 15
    return int(text) if plain else None


async def run_inside(
    client: RuntimeClient,
    script: Script,
    args: tuple[str, ...],
    *,
    heard: Callable[[bytes], None] | None = None,
    kept_bytes: int = MAX_KEPT_BYTES,
) -> Outcome:
    """Run the script to its end; the last `kept_bytes` of its output are kept. `heard` receives
    standard error as it arrives (bytes an agent may have written). Raises `LimitReached` when it
    takes too long, `Failed` when it was killed or the answer broke off, and what the runtime's
    problem documents stand for."""
    argv = ["/bin/sh", "-c", script.guarded, "atoll", *args]
    seconds, quiet = script.seconds, script.unrecorded
    body = ExecBody(argv=argv, cwd=WORKSPACE, timeout=seconds, unrecorded=quiet, clean_env=True)
    try:
        async with client.stream(stream_exec(body)) as answer:
            return await _follow_script(answer, script, heard, kept_bytes=kept_bytes)
    except Invalid as error:
        if error.field == "argv":
            raise Failed(
                f"Nothing can {script.purpose} here, because the sandbox has no shell "
                "(/bin/sh): use an image that has one."
            ) from error
        if error.field != "clean_env":
            raise
    # A runtime of an earlier version, which refuses what it does not know.
    earlier = msgspec.structs.replace(body, clean_env=False)
    async with client.stream(stream_exec(earlier)) as answer:
        return await _follow_script(answer, script, heard, kept_bytes=kept_bytes)


async def _follow_script(
    answer: RuntimeStream,
    script: Script,
    heard: Callable[[bytes], None] | None,
    *,
    kept_bytes: int,
) -> Outcome:
    """Read a script's output until it exits, and return its outcome. Raises `Failed`."""
    output = {"stdout": bytearray(), "stderr": bytearray()}
    pending = b""
    async for piece in answer.body:
        *whole, pending = (pending + piece).split(b"\n")
        if len(pending) > MAX_LINE_BYTES:
            break
        for line in filter(None, whole):
            report = _read(line)
            if report.exit is not None:
                return _outcome(report.exit, script, output)
            data = base64.b64decode(report.data)
            if report.stream in output:
                output[report.stream] += data
                del output[report.stream][:-kept_bytes]
            if report.stream == "stderr" and heard is not None:
                heard(data)
    raise Failed(f"The sandbox's runtime broke off while it had to {script.purpose}: try again.")


def _read(line: bytes) -> _Line:
    try:
        return msgspec.json.decode(line, type=_Line)
    except UNREADABLE as error:
        raise Failed("The sandbox's runtime answered with something that is not JSON.") from error


def _outcome(end: _Exit, script: Script, output: dict[str, bytearray]) -> Outcome:
    if end.timed_out:
        raise LimitReached(
            f"It took longer than {script.seconds:.0f} seconds to {script.purpose}: "
            "the repository is too large for this machine, or the machine is overloaded."
        )
    if end.exit_code is None:
        raise Failed(
            f"The process that had to {script.purpose} was killed ({end.signal}): the sandbox "
            "may be out of memory or disk."
        )
    last_lines = output["stderr"].decode("utf-8", "replace").strip().splitlines()[-3:]
    plain = "; ".join(line for line in last_lines if line)
    shown = replace_unseen(plain, 500)
    if end.exit_code == NO_SUCH_PROGRAM:
        shown = f"{shown}; use an image that has this program"
    return Outcome(end.exit_code, bytes(output["stdout"]), shown)
