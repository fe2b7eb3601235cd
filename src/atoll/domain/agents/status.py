"""Status of an agent, at a glance: works, needs its person, is done, idle, stopped or failed.

Pure. `step` takes the facts that a runtime knows about one agent and returns its next status.
`AttentionBudget` bounds how often agents may call for their person. Every text comes from inside
the sandbox, so it becomes one short line without invisible characters.
"""

import json
import re
from dataclasses import dataclass

from msgspec.structs import replace

from atoll.domain.agents.card import Card, CardKind, CardState, own_title
from atoll.domain.terminals.softlock import AgentState, Work
from atoll.domain.unseen import is_unseen
from atoll.wire.contract.agents import StatusKind, StatusOption, StatusRecord

MAX_LINE = 160
MAX_QUESTION = 280
MAX_OPTIONS = 6
MAX_LABEL = 60
CALLS, CALL_SECONDS = 5, 60.0
"""The number of calls for a person that the agents of one sandbox may make in this time. Approval
requests have a bound of their own (`domain.approvals`): together they are ten a minute."""

ASKING = frozenset({CardKind.QUESTION, CardKind.APPROVAL, CardKind.STATUS})
"""The kinds of cards that wait for a person while they are pending."""

SHOWS = "Its terminal shows output."
QUIET = "Its terminal is quiet."
"""The words about an agent that reports nothing of itself; its output is not repeated."""

_TOOLS = frozenset({CardKind.BASH, CardKind.TOOL_CALL, CardKind.DIFF, CardKind.FILE})
_OPTION = re.compile(r"[\x21-\x7e]{1,100}\Z")
_MESSAGE = re.compile(r'"message"\s*:\s*("(?:[^"\\]|\\.)*")')
_JSON = ("{", "[API Error: {")
_EFFECTS = {"allow": "allow", "deny": "deny"}
_READ = 4000
"""The characters of a text that are looked at for its last sentence."""


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The facts about one agent: its lock, the card that waits for its person, how its last turn
    ended (None while none did), its last tool or sentence, and why its process failed."""

    state: AgentState
    work: Work
    asked: Card | None = None
    outcome: CardState | None = None
    on: str = ""
    failure: str = ""
    shows: bool | None = None
    """True while its terminal shows output; None for an agent that reports its turns."""
    starts: bool = False
    """True while an agent that was started with a prompt has not reported its turn."""


def first_status(at: str) -> StatusRecord:
    """Return the status of an agent that has just started."""
    return StatusRecord("idle", at)


def step(before: StatusRecord, facts: AgentFacts, at: str) -> StatusRecord:
    """Return the status after `before`. `since` moves only when the status or its question does."""
    kind, reason = _next_status(before, facts)
    asked = facts.asked if kind == "needs_you" else None
    same = kind == before.status and (asked is None or _is_same_question(before, asked))
    ended = before.status in ("working", "needs_you") and kind in ("done", "failed", "idle")
    record = replace(
        before,
        status=kind,
        since=before.since if same else at,
        on=facts.on,
        reason=reason,
        turns=before.turns + (ended and facts.outcome is not None),
    )
    return _with_question(record, asked)


def _is_same_question(before: StatusRecord, asked: Card) -> bool:
    """Report whether a card asks what was asked before. At a terminal the hooks, the transcript and
    a hook that waits all report a question, each by a card of its own."""
    return asked.id == before.card or before.answer == "terminal"


def when_sandbox_ended(status: StatusRecord, *, failed: bool, reason: str, at: str) -> StatusRecord:
    """Return the status of an agent whose sandbox no longer runs. One that had ended keeps its
    own."""
    if status.status in ("stopped", "failed") and not status.reason.startswith("Its last turn"):
        return status
    ended = replace(
        status, status="failed" if failed else "stopped", since=at, reason=line_of(reason)
    )
    return _with_question(ended, None)


def headline(card: Card) -> str:
    """Return the line that says what the agent does by this card: a tool, its last sentence, or the
    prompt that it was given; empty for one that says nothing."""
    if card.kind in _TOOLS:
        command = card.data.get("command")
        return line_of(card.title or (command if isinstance(command, str) else ""))
    if card.kind is not CardKind.TEXT:
        return ""
    if card.data.get("role") == "person":
        return first_line(card.text)
    lines = [line for line in card.text[-_READ:].splitlines() if line.strip()]
    return line_of(lines[-1]) if lines else ""


def first_line(words: str) -> str:
    """Return the first line of a prompt that says something."""
    return line_of(next(filter(str.strip, words[:_READ].splitlines()), ""))


def failure_of(text: str) -> str:
    """Return why a turn failed, as one line: of a provider's error in JSON its message."""
    match = _MESSAGE.search(text[:_READ]) if text.lstrip().startswith(_JSON) else None
    try:
        message = json.loads(match[1]) if match else text
    except ValueError:
        message = text
    return line_of(message)


def line_of(text: str, limit: int = MAX_LINE) -> str:
    """Return `text` as one line of at most `limit` characters, without invisible ones."""
    seen = "".join(" " if is_unseen(char) else char for char in text[: limit * 8])
    line = " ".join(seen.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


class AttentionBudget:
    """A bound on how often agents call for their person: at most `CALLS` times in any minute."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: tuple[float, ...] = ()

    def wait(self, now: float) -> float:
        """Return the seconds until the next call is allowed; 0.0 when it is."""
        self._calls = tuple(call for call in self._calls if call > now - CALL_SECONDS)
        full = len(self._calls) >= CALLS
        return self._calls[0] + CALL_SECONDS - now if full else 0.0

    def call(self, now: float) -> None:
        """Record a call."""
        self._calls = (*self._calls, now)


def _next_status(before: StatusRecord, facts: AgentFacts) -> tuple[StatusKind, str]:
    """Return the next status and its reason."""
    match facts.state:
        case AgentState.STOPPED:
            return ("failed", facts.failure) if facts.failure else ("stopped", "")
        case AgentState.PAUSED:
            return "idle", "It is paused."
        case AgentState.RUNNING:  # pragma: no branch - the cases are all
            return _status_of_running(before, facts)


def _status_of_running(before: StatusRecord, facts: AgentFacts) -> tuple[StatusKind, str]:
    """Return the status of a running agent and its reason."""
    if facts.asked is not None:
        return "needs_you", ""
    if facts.work is Work.WORKING or facts.shows or facts.starts:
        return "working", ""
    if facts.shows is False and facts.outcome is None:
        return "idle", QUIET
    match facts.outcome:
        case CardState.DONE:
            return "done", ""
        case CardState.FAILED:
            return "failed", facts.failure or "Its last turn failed."
        case CardState.DECLINED:
            return "idle", "Its turn was interrupted."
        case CardState.PENDING | CardState.RUNNING | None:  # pragma: no branch - all
            return ("done" if before.turns else "idle"), ""


def _with_question(status: StatusRecord, asked: Card | None) -> StatusRecord:
    if asked is None:
        return replace(status, question="", card="", answer="", options=(), words=False)
    by_protocol = asked.data.get("answerable") is True
    title = own_title(asked.title, asked.text)
    question = asked.title if asked.kind is CardKind.STATUS else f"{title} {asked.text}"
    return replace(
        status,
        question=line_of(question, MAX_QUESTION),
        card=asked.id,
        answer="protocol" if by_protocol else "terminal",
        options=_options(asked) if by_protocol else (),
        words=by_protocol and asked.kind is CardKind.QUESTION,
    )


def _options(card: Card) -> tuple[StatusOption, ...]:
    """Return the options that can be spelled out in an answer, at most six."""
    spelled = [option for option in card.options if _OPTION.match(option.id)]
    return tuple(
        StatusOption(
            option.id, line_of(option.label, MAX_LABEL), _EFFECTS.get(option.effect, "other")
        )
        for option in spelled[:MAX_OPTIONS]
    )
