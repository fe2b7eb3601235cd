"""Approval requests for commands: a program inside waits for a person's decision on one command.

A request is shown to the person outside exactly as it was made, and only decided there. It ends
with its deadline or with the program that waits. Nothing sent from inside can decide it. The policy
says which commands need approval; the requesting program runs them.
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
"""Open requests of one sandbox at most, because a person reads them all."""

Record = Callable[[str, Mapping[str, object]], object]


class Decision(StrEnum):
    """The end of a command request."""

    ALLOW = "allow"
    DENY = "deny"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command that waits for a decision. `subject` is all that the person is shown: `argv` and
    `cwd`."""

    id: str
    at: datetime
    expires_at: datetime
    argv: tuple[str, ...]
    cwd: str

    @property
    def subject(self) -> dict[str, object]:
        """The subject as the contract spells it."""
        return {"argv": [*self.argv], "cwd": self.cwd}


@dataclass(slots=True)
class _Pending:
    request: CommandRequest
    decision: "asyncio.Future[Decision]" = field(repr=False)


class CommandRequests:
    """The open command requests of one sandbox. `record` writes to the journal."""

    def __init__(self, record: Record, wait_seconds: float = WAIT_SECONDS) -> None:
        self._record = record
        self._wait_seconds = wait_seconds
        self._pending: dict[str, _Pending] = {}

    def list_pending(self) -> list[CommandRequest]:
        """Return the undecided requests, oldest first."""
        return [pending.request for pending in self._pending.values()]

    async def submit(self, argv: tuple[str, ...], cwd: str) -> Decision:
        """Request one command and wait for the decision. Cancelling withdraws the request. The
        same command requested twice is two requests, each decided for one run. Raises
        `LimitReached`."""
        if len(self._pending) >= MAX_WAITING:
            raise LimitReached(f"{MAX_WAITING} commands wait for a person already")
        now = datetime.now(UTC)
        request = CommandRequest(
            id=f"ask_{secrets.token_hex(10)}",
            at=now,
            expires_at=now + timedelta(seconds=self._wait_seconds),
            argv=argv,
            cwd=cwd,
        )
        pending = _Pending(request, asyncio.get_running_loop().create_future())
        self._pending[request.id] = pending
        payload = {"ask_id": request.id, "kind": "command", "subject": request.subject}
        expires_at = request.expires_at.isoformat()
        self._record("approval.asked", {**payload, "expires_at": expires_at})
        try:
            async with asyncio.timeout(self._wait_seconds):
                return await pending.decision
        except TimeoutError:
            return Decision.EXPIRED
        finally:
            if self._pending.pop(request.id, None) is not None:
                # Undecided: a person who is still shown it would decide for nobody.
                self._record("approval.withdrawn", {"ask_id": request.id})

    def decide(self, ask_id: str, *, allow: bool) -> None:
        """Decide a request from outside. Raises `NotFound` when no program waits any more."""
        pending = self._pending.pop(ask_id, None)
        if pending is None or pending.decision.done():
            raise NotFound(
                f"nobody waits for {ask_id[:80]} any more; a new run makes a new request"
            )
        pending.decision.set_result(Decision.ALLOW if allow else Decision.DENY)
