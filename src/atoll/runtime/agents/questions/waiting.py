"""The questions of one agent at its terminal that can be answered from elsewhere, too.

Each waits under its card until it is answered, here or at the terminal: whoever answers first
wins. A late answer goes nowhere.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from atoll.domain.agents.card import AgentReport, Card, CardState, Draft, Worked, Yielded
from atoll.domain.agents.conversation import Step, not_pending
from atoll.domain.agents.terminal_question import TerminalQuestion, answer_part
from atoll.domain.errors import Conflict

Deliver = Callable[[TerminalQuestion], Awaitable[None]]
"""Takes an answered question to its agent. Raises `Conflict` where the agent takes none any
more."""


@dataclass(frozen=True, slots=True)
class _Pending:
    question: TerminalQuestion
    deliver: Deliver


class TerminalQuestions:
    """The questions that wait, by their cards."""

    def __init__(self) -> None:
        self._posed: dict[str, _Pending] = {}

    def pose(self, question: TerminalQuestion, deliver: Deliver) -> tuple[AgentReport, ...]:
        """Add a question. Returns the reports for the agent's session."""
        self._posed[question.id] = _Pending(question, deliver)
        return question.draft(), Yielded()

    def withdraw(self, question_id: str) -> tuple[AgentReport, ...]:
        """Remove a question that waits no longer; none where it was answered here."""
        posed = self._posed.pop(question_id, None)
        if posed is None:
            return ()
        return (Draft(question_id, posed.question.kind, CardState.DONE),)

    async def answer(self, card: Card, option: str | None, words: str | None) -> Step:
        """Answer the present part of a question; with the last one the agent gets all answers.
        Raises `NotFound`, `Conflict`, `Invalid`."""
        posed = self._posed.get(card.id)
        if posed is None:
            raise not_pending(card.id)
        question = answer_part(posed.question, card, option, words)
        if not question.is_answered:
            self._posed[card.id] = _Pending(question, posed.deliver)
            return Step(said=(question.draft(),))
        await posed.deliver(question)
        self._posed.pop(card.id, None)
        state = CardState.DECLINED if question.denied else CardState.DONE
        return Step(said=(Draft(card.id, card.kind, state), Worked()))


def late_answer() -> Conflict:
    """Return the error for an answer to a question that was answered meanwhile."""
    return Conflict(
        "The question was answered meanwhile, so your answer went nowhere.", code="not_pending"
    )
