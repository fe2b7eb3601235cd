"""Cards of turns whose end an agent did not report: they are closed a moment after the last end.

An agent may omit the end of a turn, or write it out of order.
"""

import asyncio
from collections.abc import Callable, Sequence

from atoll.domain.agents.card import AgentReport, CardKind, CardState, Draft, Ended
from atoll.domain.agents.card_log import CardLog

WRITING_SECONDS = 1.0
"""An agent that is done may still write down what it did: its turn's card waits so long after
the last of that."""


class TurnClosing:
    """The closing of turns in `cards`. `close` receives the drafts that end the cards of running
    turns which began before the last end; at first that is `since`."""

    def __init__(
        self, cards: CardLog, close: Callable[[Sequence[Draft]], None], *, since: str
    ) -> None:
        self._cards = cards
        self._close = close
        self._over_at, self._over_as = since, CardState.DONE
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """True while something is about to be closed."""
        return self._timer is not None

    def ended(self, at: str, state: CardState) -> None:
        """Note that a turn ended."""
        self._over_at, self._over_as = at, state

    def heard(self, reports: Sequence[AgentReport]) -> None:
        """Wait anew for what the agent still writes, when it wrote about turns or this waits
        already."""
        if self._timer is None and not any(map(_tells_of_turns, reports)):
            return
        self.cancel()
        if self._overdue():
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WRITING_SECONDS, self._close_overdue)

    def cancel(self) -> None:
        """Close nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_overdue(self) -> None:
        """Close the cards of the turns that are over."""
        self._timer = None
        self._close(self._overdue())

    def _overdue(self) -> list[Draft]:
        return [
            Draft(card.id, card.kind, self._over_as)
            for card in self._cards.all()
            if card.kind is CardKind.TURN
            and card.state is CardState.RUNNING
            and card.at <= self._over_at
        ]


def _tells_of_turns(report: AgentReport) -> bool:
    return isinstance(report, Ended) or (isinstance(report, Draft) and report.kind is CardKind.TURN)
