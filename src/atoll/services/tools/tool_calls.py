"""Calls of tools: each is judged, performed and recorded as an event.

A surface brings the tool, its arguments and what performs it. The event says who called what, with
a digest of the arguments, and how it ended; the arguments themselves are nowhere.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import msgspec
import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import Json
from atoll.domain.people.principal import Principal
from atoll.domain.tool.answer import Answer
from atoll.domain.tool.tool import Tool, check_permission
from atoll.ports import Clock
from atoll.services.journals.events import Events, Note

STREAM = "tools"
"""The stream of the calls of tools."""

SUCCEEDED = "ok"
"""The outcome of a call that ended without an error."""

Run = Callable[[], Awaitable[Answer]]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to call a tool, with its arguments as they came."""

    tool: Tool
    arguments: Mapping[str, Json]

    @property
    def digest(self) -> str:
        """Return the SHA-256 of name and arguments, with sorted keys: equal for equal calls."""
        encoded = msgspec.json.encode([self.tool.name, self.arguments], order="sorted")
        return hashlib.sha256(encoded).hexdigest()


class ToolCalls:
    """Use case of every tool."""

    def __init__(self, events: Events, clock: Clock) -> None:
        self._events = events
        self._clock = clock

    async def perform(self, caller: Principal, call: ToolCall, run: Run) -> Answer:
        """Perform a call after looking at its permission, and record it. Raises `Forbidden`, and
        what `run` raises."""
        began, outcome = self._clock.now(), SUCCEEDED
        try:
            check_permission(caller, call.tool)
            return await run()
        except AtollError as error:
            outcome = error.code
            raise
        except Exception:
            outcome = "internal"
            raise
        finally:
            ms = int((self._clock.now() - began).total_seconds() * 1000)
            await self._record(caller, call, outcome, ms=ms)

    async def _record(self, caller: Principal, call: ToolCall, outcome: str, *, ms: int) -> None:
        payload: dict[str, Json] = {
            "tool": call.tool.name,
            "permission": call.tool.permission,
            "digest": call.digest,
            "outcome": outcome,
            "ms": ms,
        }
        if caller.token is not None and caller.token.sandbox_id is not None:
            payload["sandbox_id"] = caller.token.sandbox_id
        try:
            await self._events.record(caller, Note(STREAM, "tool.called", payload))
        except AtollError as error:
            # The call is done, and its caller must learn how it ended.
            _log.warning("tool_call_unrecorded", tool=call.tool.name, reason=error.message)
