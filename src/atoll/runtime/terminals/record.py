"""A terminal as it was asked for, and as the contract shows it."""

from dataclasses import dataclass

import msgspec

from atoll.domain.ids import TerminalId
from atoll.domain.terminal.size import Size
from atoll.runtime.execs.ends import End


@dataclass(frozen=True, slots=True)
class TerminalSpec:
    """One terminal, as it was asked for. `env` is the whole environment, `creator` the principal
    who asked, `nonce` what its shell was told to mark commands with."""

    id: TerminalId
    name: str
    argv: tuple[str, ...]
    cwd: str
    env: tuple[tuple[str, str], ...]
    size: Size
    ring_bytes: int
    started_at: str
    creator: str | None = None
    lead: bool = False
    nonce: str = ""


class TerminalRecord(msgspec.Struct, frozen=True):
    """A terminal as the contract shows it."""

    session_id: str
    name: str
    argv: tuple[str, ...]
    cwd: str
    cols: int
    rows: int
    state: str
    exit: End | None
    started_at: str
    title: str
    offset: int
    ring_start: int
    viewers: int
    driver: str | None
    recording: bool = False
