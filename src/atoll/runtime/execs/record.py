"""An exec as it was asked for, and as the contract shows it."""

import base64
from dataclasses import dataclass

import msgspec

from atoll.domain.ids import ExecId
from atoll.runtime.execs.ends import End


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """One program to run. `stdin` None with `open_input` is fed later, without it is empty.
    `timeout` in seconds from the start; `max_output_bytes` for each stream. With `reap`
    its end is the end of all it started."""

    id: ExecId
    argv: tuple[str, ...]
    cwd: str
    env: tuple[tuple[str, str], ...]
    stdin: bytes | None
    open_input: bool
    timeout: float | None
    max_output_bytes: int
    started_at: str
    reap: bool


class ExecRecord(msgspec.Struct, frozen=True):
    """An exec without its output."""

    exec_id: str
    argv: tuple[str, ...]
    cwd: str
    state: str
    exit_code: int | None
    signal: str | None
    timed_out: bool
    started_at: str
    ended_at: str | None
    stdout_bytes: int
    stderr_bytes: int
    truncated: bool


class ExecWithOutput(ExecRecord, frozen=True):
    """An exec with what is kept of its output, base64."""

    stdout: str
    stderr: str


class Chunk(msgspec.Struct, frozen=True):
    """A line of the stream: bytes of one stream from `offset`."""

    stream: str
    offset: int
    data: str


class Last(msgspec.Struct, frozen=True):
    """The last line of the stream."""

    exit: ExecRecord


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended, and when."""

    end: End
    ended_at: str


def pack(data: bytes | bytearray) -> str:
    """Bytes as the contract carries them."""
    return base64.b64encode(data).decode("ascii")
