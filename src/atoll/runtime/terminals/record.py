"""A terminal as it was asked for."""

from dataclasses import dataclass

from atoll.domain.ids import TerminalId
from atoll.domain.terminal.size import Size


@dataclass(frozen=True, slots=True)
class TerminalSpec:
    """Terminal as it was requested. `env` is the whole environment, `creator` the principal who
    asked, `nonce` what its shell marks commands with."""

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
