"""An exec as it was asked for, and how it ended."""

import base64
from dataclasses import dataclass

from atoll.domain.ids import ExecId
from atoll.wire.contract.terminals import End


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """Program to run. `stdin` None with `open_input` is fed later, without it is empty. `timeout`
    in seconds from the start; `max_output_bytes` for each stream. With `reap` its end is the end of
    all it started."""

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


@dataclass(frozen=True, slots=True)
class ExecEnd:
    """End of a program, and its time."""

    end: End
    ended_at: str


def pack(data: bytes | bytearray) -> str:
    """Return bytes as the contract carries them."""
    return base64.b64encode(data).decode("ascii")
