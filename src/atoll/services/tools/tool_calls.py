"""Calls of tools: each is judged, performed and recorded as an event.

A surface brings the tool, its arguments and what performs it. The event says who called what, with
a digest of the arguments, and how it ended; the arguments themselves are nowhere.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import structlog
from structlog.contextvars import bound_contextvars, get_contextvars

from atoll.domain.errors import AtollError, Forbidden
from atoll.domain.event import Json
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.answer import Answer
from atoll.domain.tools.tool import Tool, check_permission
from atoll.services.ground import Ground
from atoll.services.journals.events import Events, Note
from atoll.services.tools.bounds import CallBounds
from atoll.services.tools.consent import Consent, Pending
from atoll.services.tools.tool_call import ToolCall
from atoll.services.tools.wakings import Wakings, sandbox_of, watched_by
from atoll.wire.contract.correlation import TRACE_ID
from atoll.wire.words.agents import ToolRule

STREAM = "tools"
"""The stream of the calls of tools."""

READ_PER_MINUTE, READ_AT_ONCE = 600, 64
"""The requests of one caller that are read, whatever they turn out to be: as many as come at once
where a person's clients come back after a restart."""

LONG_AT_ONCE = 4
"""The requests among them whose bodies are long, or of an unknown length."""

SUCCEEDED = "ok"
PENDING = "pending"

Run = Callable[[], Awaitable[Answer]]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """A caller of tools, and the sandbox inside which it is; None for everybody outside."""

    principal: Principal
    sandbox: Sandbox | None = None

    def sees(self, tool: Tool) -> bool:
        """Report whether a tool is offered to the caller. A sandbox's token is bounded by its
        profile, anybody else by their permissions alone."""
        offered = self.sandbox is None or self.sandbox.profile.mcp.offers(tool)
        return offered and tool.shown_to(self.principal)


class ToolCalls:
    """Use case of every tool."""

    def __init__(self, ground: Ground, events: Events, consent: Consent, wakings: Wakings) -> None:
        self._wakings = wakings
        self._ground = ground
        self._events = events
        self._consent = consent
        self._bounds = CallBounds(ground.clock)
        self._readings = CallBounds(ground.clock, per_minute=READ_PER_MINUTE, at_once=READ_AT_ONCE)
        self._long = CallBounds(ground.clock, per_minute=READ_PER_MINUTE, at_once=LONG_AT_ONCE)

    @contextmanager
    def counted_reading(self, principal: Principal, *, long: bool) -> Iterator[None]:
        """Return the context in which a request of a caller is read: one that is no call yet counts
        already. Entering it raises `LimitReached`."""
        who, where = who_calls(principal), "the tools' endpoint"
        longer = self._long.counted(who, where) if long else nullcontext()
        with self._readings.counted(who, where), longer:
            yield

    async def caller(self, principal: Principal) -> ToolCaller:
        """Return a caller of tools. Raises `Forbidden` for a sandbox that is gone."""
        named = sandbox_of(principal)
        if named is None:
            return ToolCaller(principal)
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(named)
        if sandbox is None:
            raise Forbidden("the sandbox of this token is gone")
        return ToolCaller(principal, sandbox)

    async def perform(self, caller: ToolCaller, call: ToolCall, run: Run) -> Answer:
        """Perform a call that its caller and its sandbox's profile allow, and record it. One that a
        person has to decide first is answered with `pending`. Raises `Forbidden`, `LimitReached`,
        and what `run` raises."""
        with self._trace_call(call):
            return await self._perform_call(caller, call, run)

    async def _perform_call(self, caller: ToolCaller, call: ToolCall, run: Run) -> Answer:
        """Run a call that is permitted and approved, and record its outcome."""
        began, outcome = self._ground.clock.now(), SUCCEEDED
        try:
            check_permission(caller.principal, call.tool)
            with self._bounds.counted(who_calls(caller.principal), call.tool.name):
                asked = await self._request_consent(caller, call)
                if asked is not None:
                    outcome = PENDING
                answer = await run() if asked is None else _pending(asked)
                return await self._with_news(caller, answer)
        except AtollError as error:
            outcome = error.code
            raise
        except Exception:
            outcome = "internal"
            raise
        finally:
            ms = int((self._ground.clock.now() - began).total_seconds() * 1000)
            await self._record(caller.principal, call, outcome, ms=ms)

    async def _with_news(self, caller: ToolCaller, answer: Answer) -> Answer:
        """Return an answer that also says how much is new of what the sandbox watches, as far as
        that can be read: the call is done, and its answer must not be lost."""
        sandbox = caller.sandbox
        if sandbox is None or not watched_by(sandbox):
            return answer
        try:
            return replace(answer, news=await self._wakings.untold(sandbox))
        except AtollError as error:
            _log.warning("tool_news_unread", sandbox=sandbox.id, reason=error.message)
            return answer

    @contextmanager
    def _trace_call(self, call: ToolCall) -> Iterator[None]:
        """Continue the trace of a call's client: its span, and its log lines and its event also
        where no spans are kept."""
        context = {} if call.trace is None else {TRACE_ID: call.trace.trace_id}
        tracer = self._ground.telemetry.tracer
        with bound_contextvars(**context), tracer.span("tool.call", parent=call.trace) as span:
            span.note("atoll.tool", call.tool.name)
            yield

    async def _request_consent(self, caller: ToolCaller, call: ToolCall) -> Pending | None:
        """Return the request that has to be decided before a call from inside may run. A person's
        own agent asks that person itself."""
        sandbox = caller.sandbox
        if sandbox is None:
            return None
        match sandbox.profile.mcp.rule_of(call.tool):
            case ToolRule.ALLOW:
                return None
            case ToolRule.DENY:
                needed = call.tool.needed_by(caller.principal) or call.tool.permission
                raise Forbidden(
                    f"the profile of {sandbox.name} denies {call.tool.name}, which needs {needed}"
                )
            case ToolRule.ASK:
                decision = await self._consent.ask(sandbox, call)
                return decision if isinstance(decision, Pending) else None

    async def _record(self, caller: Principal, call: ToolCall, outcome: str, *, ms: int) -> None:
        payload: dict[str, Json] = {
            "tool": call.tool.name,
            "permission": call.tool.needed_by(caller) or call.tool.permission,
            "digest": call.digest,
            "outcome": outcome,
            "ms": ms,
        }
        named, trace_id = sandbox_of(caller), get_contextvars().get(TRACE_ID)
        if named is not None:
            payload["sandbox_id"] = named
        if isinstance(trace_id, str):
            payload["trace_id"] = trace_id
        try:
            await self._events.record(caller, Note(STREAM, "tool.called", payload))
        except AtollError as error:
            # The call is done, and its caller must learn how it ended.
            _log.warning("tool_call_unrecorded", tool=call.tool.name, reason=error.message)


def who_calls(caller: Principal) -> str:
    """Return what a caller's calls are counted by."""
    origin = "home" if caller.token is None else caller.token.origin
    return f"{caller.org_id} {caller.id} {origin}"


def _pending(asked: Pending) -> Answer:
    message = "a person has to approve this call; make the very same call again once that is done"
    return Answer({"pending": {"approval_id": asked.approval_id, "message": message}})
