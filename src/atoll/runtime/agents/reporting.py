"""Reports of what each agent does: to the journal, and in the runtime's own listing.

`domain.agents.status` decides what the status is; here it is kept, and published within bounds. A
change of the last tool or sentence waits a few seconds for the next one. A call for a person waits
when the agents of this sandbox have called too often.
"""

import asyncio
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from atoll.domain.agents.card import Card, CardKind, CardState
from atoll.domain.agents.status import (
    ASKING,
    SHOWS,
    AgentFacts,
    AttentionBudget,
    failure_of,
    first_line,
    first_status,
    headline,
    step,
)
from atoll.domain.broker.audit_budget import AuditBudget
from atoll.runtime.agents.status import AgentStatus
from atoll.runtime.clock import Alarm, timestamp
from atoll.wire.contract.agents import StatusRecord

HEADLINE_SECONDS = 3.0
"""The least time between two reports that differ in the last tool or sentence only."""
START_SECONDS = 60.0
"""The longest time in which an agent that was started with a prompt reports that."""
FLOOD_SECONDS = 1.0
"""The time until a report that exceeded the budget is tried again."""

Record = Callable[[str, Mapping[str, object]], object]


class StatusReport:
    """Report on one agent. `published` is what readers see."""

    def __init__(self, status: AgentStatus, record: Record, attention: AttentionBudget) -> None:
        self._agent = status
        self._record = record
        self._attention = attention
        self._loop = asyncio.get_running_loop()
        self._budget = AuditBudget(self._loop.time())
        self._pending: dict[str, Card] = {}
        self._outcome: CardState | None = None
        self._on = ""
        self._failure = ""
        self._shows: bool | None = None
        self._known = self.published = first_status(status.identity.started_at)
        self._published_at = 0.0
        self._alarm = Alarm(self._publish)
        self._starts = False
        self._patience = Alarm(self._never_began)

    @property
    def known(self) -> StatusRecord:
        """Return the status as it is known by now: the published one may lag behind."""
        return self._known

    def began(self) -> None:
        """Record that a turn began, or goes on after an answer. What was said of one that had ended
        is over."""
        if self._outcome is not None:
            self._on = ""
        self._outcome, self._failure = None, ""
        self._end_starting()

    def prompted(self, words: str) -> None:
        """Record that the agent was started with a prompt."""
        self._starts, self._on = True, first_line(words)
        self._patience.set(self._loop.time() + START_SECONDS)

    def ended(self, outcome: CardState) -> None:
        """Record how a turn ended. A question at the terminal ends with it. Several sources report
        an end: one that only says that it is over takes back no failure and no interrupt."""
        if outcome is not CardState.DONE or self._outcome is None:
            self._outcome = outcome
        self._end_starting()
        # A person's word counts more than output that goes on.
        self._shows = self._shows and False
        self._keep_answerable()

    def shows(self, *, active: bool) -> None:
        """Record whether the terminal of an agent that reports nothing shows output now."""
        self._shows = active
        if active:
            self.began()
        self._on = SHOWS if active else ""

    def left(self, failure: str) -> None:
        """Record that the process is gone; `failure` says why, if it did not end as it should."""
        self._pending, self._failure = {}, failure
        self._end_starting()

    def saw(self, card: Card) -> None:
        """Record a card that was added or changed."""
        if card.kind is CardKind.STATUS and card.state is CardState.FAILED:
            self._failure = failure_of(card.text or card.title)
        if card.kind in ASKING and card.state is CardState.PENDING:
            self._pending[card.id] = card
        else:
            settled = self._pending.pop(card.id, None)
            if settled is not None and _is_answerable(settled):
                # Its terminal reports the same question once more, and its end a little later.
                self._keep_answerable()
        self._on = headline(card) or self._on

    @property
    def has_counts(self) -> bool:
        """True once the changes of the agent were counted."""
        return self._known.commits is not None

    def counted(self, commits: int, plus: int, minus: int) -> None:
        """Record the commits and lines that the agent has changed so far, and publish them."""
        self._known = replace(self._known, commits=commits, plus=plus, minus=minus)
        self.settle()

    def settle(self) -> None:
        """Take all that was recorded as one change, and publish it when it is due."""
        lock = self._agent.lock
        pending = sorted(self._pending.values(), key=_urgency)
        asked = next(iter(pending), None)
        facts = AgentFacts(
            lock.state,
            lock.work,
            asked,
            self._outcome,
            on=self._on,
            failure=self._failure,
            shows=self._shows,
            starts=self._starts,
        )
        self._known = step(self._known, facts, timestamp())
        self._alarm.cancel()
        if self._known != self.published:
            self._publish()

    def _keep_answerable(self) -> None:
        self._pending = {key: card for key, card in self._pending.items() if _is_answerable(card)}

    def _end_starting(self) -> None:
        """Record that the agent no longer starts, and cancel the timer for its first turn."""
        self._starts = False
        self._patience.cancel()

    def _never_began(self) -> None:
        self._starts = False
        self.settle()

    def _publish(self) -> None:
        """Publish what is known, or set when that is due."""
        now = self._loop.time()
        due = self._find_due_time(now)
        if due > now:
            self._alarm.set(due)
            return
        self._alarm.cancel()
        missed = self._budget.take(now)
        if missed is None:
            self._alarm.set(now + FLOOD_SECONDS)
            return
        if self._calls:
            self._attention.call(now)
        begins = self._begins
        self.published, self._published_at = self._known, now
        identity = self._agent.identity
        entry: dict[str, object] = {"id": identity.id, "agent": identity.name}
        entry |= {"mode": identity.mode, "begins": begins}
        self._record("agent.status", {**entry, **msgspec.to_builtins(self.published)})

    @property
    def _calls(self) -> bool:
        """True if publishing what is known calls for the person."""
        return self._begins and self._known.status == "needs_you"

    @property
    def _begins(self) -> bool:
        """True if what is known is another status, or question, than what is published."""
        known, published = self._known, self.published
        return (known.status, known.since) != (published.status, published.since)

    def _find_due_time(self, now: float) -> float:
        """Return the loop time at which the next status is to be published."""
        if self._calls:
            return now + self._attention.wait(now)
        bare = replace(self._known, on=self.published.on)
        return self._published_at + HEADLINE_SECONDS if bare == self.published else now


def _is_answerable(card: Card) -> bool:
    return card.data.get("answerable") is True


def _urgency(card: Card) -> tuple[bool, bool]:
    """Return the order of pending cards: first those that a person can answer from anywhere, last
    those that only say that something is asked."""
    return not _is_answerable(card), card.kind is CardKind.STATUS
