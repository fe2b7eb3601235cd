"""An exec as it was requested, and the end of a program in the contract's words."""

import base64
import signal
from dataclasses import dataclass

from atoll.domain.ids import ExecId
from atoll.ports.spawner import Exit
from atoll.wire.contract.terminals import End


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """Program to run. `stdin` None with `open_input` is fed later, without it is empty. `timeout`
    in seconds from the start; `max_output_bytes` for each stream. With `reap` its end is the end of
    all it started. One that is `unrecorded` leaves no journal entry; others name the `actor` there,
    as the control plane spelled it. `own` are the control plane's own."""

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
    unrecorded: bool = False
    own: bool = False
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class ExecEnd:
    """End of a program, and its time."""

    end: End
    ended_at: str


def pack(data: bytes | bytearray) -> str:
    """Return bytes as the contract carries them."""
    return base64.b64encode(data).decode("ascii")


def end_of(left: Exit) -> End:
    """Return an exit in the contract's words."""
    if left.signal is None:
        return End(code=left.code if left.code is not None else 0)
    return End(signal=signal_name(left.signal))


def signal_name(number: int) -> str:
    """Return `"KILL"` for 9; a number for a signal without a name."""
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:
        return str(number)
