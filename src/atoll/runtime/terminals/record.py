"""A terminal as it was asked for, and the guard of what is typed there."""

from dataclasses import dataclass
from typing import Protocol

from atoll.domain.ids import TerminalId
from atoll.domain.terminals.size import Size
from atoll.wire.attach import ServerMessage
from atoll.wire.contract.screens import KeptScreen
from atoll.wire.words.terminals import Role


class TypingGuard(Protocol):
    """Guard of what is typed at a terminal, as an agent's lock is."""

    def refusal(self, role: Role, keys: bytes) -> str | None:
        """Return why a client of this role may not type these keys now; None while it may."""
        ...

    def greeting(self) -> ServerMessage:
        """Return the message to each who joins."""
        ...


@dataclass(frozen=True, slots=True)
class TerminalSpec:
    """Terminal as it was requested. `env` is the whole environment, `creator` the principal who
    asked, `nonce` what its shell marks commands with, `guard` what may refuse keys. Its output goes
    on below `screen`."""

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
    guard: TypingGuard | None = None
    screen: KeptScreen | None = None
