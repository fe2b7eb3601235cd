"""Asks: somebody inside waits for a person's word on exactly one command.

Shown to the person outside as it was asked, decided outside only, and gone when its time is
over or the asker is. Nothing sent from inside can decide one. Which commands need asking is
the policy's business, running them the asker's.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from atoll.domain.errors import LimitReached, NotFound

WAIT_SECONDS = 600.0
MAX_WAITING = 16
"""Of one sandbox: a person reads them all."""

Record = Callable[[str, Mapping[str, object]], object]


class Word(StrEnum):
    """How an ask ended."""

    ALLOW = "allow"
    DENY = "deny"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Ask:
    """One that waits. `subject` is what the person is shown, whole: `argv` and `cwd`."""

    id: str
    at: datetime
    expires_at: datetime
    argv: tuple[str, ...]
    cwd: str

    @property
    def subject(self) -> dict[str, object]:
        """As the contract spells it."""
        return {"argv": [*self.argv], "cwd": self.cwd}


@dataclass(slots=True)
class _Waiting:
    ask: Ask
    word: "asyncio.Future[Word]" = field(repr=False)


class Asks:
    """Those of one sandbox. `record` writes to the journal."""

    def __init__(self, record: Record, wait_seconds: float = WAIT_SECONDS) -> None:
        self._record = record
        self._wait_seconds = wait_seconds
        self._waiting: dict[str, _Waiting] = {}

    def waiting(self) -> list[Ask]:
        """Those that nobody decided yet, oldest first."""
        return [one.ask for one in self._waiting.values()]

    async def ask(self, argv: tuple[str, ...], cwd: str) -> Word:
        """Ask for one command, and wait for the word. Cancelling takes the ask back. The same
        command asked twice at once is two asks: each is answered for one run. Raises
        `LimitReached`."""
        if len(self._waiting) >= MAX_WAITING:
            raise LimitReached(f"{MAX_WAITING} commands wait for a person already")
        now = datetime.now(UTC)
        ask = Ask(
            id=f"ask_{secrets.token_hex(10)}",
            at=now,
            expires_at=now + timedelta(seconds=self._wait_seconds),
            argv=argv,
            cwd=cwd,
        )
        one = _Waiting(ask, asyncio.get_running_loop().create_future())
        self._waiting[ask.id] = one
        told = {"ask_id": ask.id, "kind": "command", "subject": ask.subject}
        self._record("approval.asked", {**told, "expires_at": ask.expires_at.isoformat()})
        try:
            async with asyncio.timeout(self._wait_seconds):
                return await one.word
        except TimeoutError:
            return Word.EXPIRED
        finally:
            self._waiting.pop(ask.id, None)

    def decide(self, ask_id: str, *, allow: bool) -> None:
        """A person's word, from outside. Raises `NotFound` when nobody waits for it any more."""
        one = self._waiting.pop(ask_id, None)
        if one is None or one.word.done():
            raise NotFound(f"nobody waits for {ask_id[:80]} any more; a new run asks anew")
        one.word.set_result(Word.ALLOW if allow else Word.DENY)
