"""Questions of an agent, each under an id of ours, until somebody has answered it.

An answer by the worker's `serverRequest/respond` and one by the card are the same to the agent.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.domain.agents.card import Card, CardKind, CardState, Draft, Option, Value
from atoll.domain.agents.conversation import AgentEvent
from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text, remember
from atoll.domain.errors import Conflict, Invalid

PREFIX = "approval:"
"""The id of a question's card begins so."""

DECISIONS = ("accept", "acceptForSession", "decline", "cancel")
_METHODS = {
    CardKind.BASH: "item/commandExecution/requestApproval",
    CardKind.DIFF: "item/fileChange/requestApproval",
}
_OTHER = "item/toolCall/requestApproval"
_INPUT = "item/tool/requestUserInput"


class Names:
    """Names of threads, turns and questions: UUIDs made of a seed, each another one. The same seed
    gives the same names in order."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._made = 0

    def fresh(self) -> str:
        """Return a name that was not given before."""
        self._made += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._seed}:{self._made}"))


@dataclass(frozen=True, slots=True)
class Question:
    """A question that waits: its card, and the thread it is of."""

    id: str
    thread: str
    draft: Draft

    @property
    def card(self) -> Card:
        """Return its card, as an answer takes it."""
        draft = self.draft
        options = draft.options or ()
        return Card(
            0, 0, draft.id, 0, draft.kind, CardState.PENDING, at="", options=options
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CardAnswer:
    """An answer: one of the card's options or words, and the words for each question. `ends` breaks
    the turn off, too."""

    option: str | None = None
    words: str | None = None
    answers: tuple[tuple[str, str], ...] = ()
    ends: bool = False


class Questions:
    """The questions of one conversation, in all of its threads."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._waiting: dict[str, Question] = {}

    def asked(
        self, draft: Draft, thread: str, turn: str, *, about: CardKind | None, given: Message
    ) -> AgentEvent:
        """Return the event of a question. `about` is the kind of the item it is about, `given` what
        the agent wants to do it with."""
        question = Question(self._names.fresh(), thread, draft)
        remember(self._waiting, draft.id, question)
        params: dict[str, Value] = {"threadId": thread, "turnId": turn}
        item = (draft.data or {}).get("for")
        if isinstance(item, str) and item:
            params["itemId"] = item
        if draft.kind is CardKind.QUESTION:
            asks: list[Value] = [*_questions(draft, given)]
            return AgentEvent(_INPUT, {**params, "questions": asks}, question.id)
        options: list[Value] = [_option_fields(option) for option in draft.options or ()]
        more: dict[str, Value] = {"reason": draft.title or "", "options": options}
        if draft.text:
            more["command" if about is CardKind.BASH else "detail"] = draft.text
        return AgentEvent(
            _METHODS.get(about or draft.kind, _OTHER), {**params, **more}, question.id
        )

    def settled(self, card_id: str) -> tuple[AgentEvent, ...]:
        """Return the event of a question that waits no longer; none where none waited."""
        question = self._waiting.pop(card_id, None)
        if question is None:
            return ()
        params: dict[str, Value] = {"threadId": question.thread, "requestId": question.id}
        return (AgentEvent("serverRequest/resolved", params),)

    def withdrawn(self, thread: str) -> tuple[AgentEvent, ...]:
        """Return the events of all that waited in a thread, whose turn ended."""
        gone = [
            question.draft.id for question in self._waiting.values() if question.thread == thread
        ]
        return tuple(event for card_id in gone for event in self.settled(card_id))

    def find(self, question_id: str) -> Question:
        """Return a question that waits. Raises `Conflict`."""
        for question in self._waiting.values():
            if question.id == question_id:
                return question
        raise Conflict(f"nothing waits for an answer to {question_id[:80]!r}", code="conflict")


def decide(question: Question, params: Message) -> CardAnswer:
    """Return the answer that the params of `serverRequest/respond` give. Raises `Invalid`."""
    options = question.draft.options or ()
    result = read_object(params, "result")
    if question.draft.kind is CardKind.QUESTION:
        answers = _answers(result)
        return CardAnswer(
            read_text(result, "option") or None, read_text(result, "text") or None, answers
        )
    if option := read_text(result, "option"):
        return CardAnswer(option, read_text(result, "text") or None)
    decision = "decline" if "error" in params else read_text(result, "decision")
    if decision not in DECISIONS:
        raise Invalid(
            f"result.decision is one of {', '.join(DECISIONS)}, or result.option one of: "
            f"{', '.join(option.id for option in options)}",
            code="invalid_request",
            field="result",
        )
    ends = decision == "cancel"
    lasting = (question.draft.data or {}).get("lasting")
    chosen = _option(options, decision, lasting if isinstance(lasting, list) else [])
    return CardAnswer(chosen, read_text(result, "text") or None, ends=ends)


def _option(options: tuple[Option, ...], decision: str, lasting: Sequence[Value]) -> str | None:
    """Return the option that a decision means; `lasting` are the ids of those that hold longer than
    once."""
    effect = "allow" if decision.startswith("accept") else "deny"
    fits = [option.id for option in options if option.effect == effect]
    last = [option_id for option_id in fits if option_id in lasting]
    once = [option_id for option_id in fits if option_id not in lasting]
    first = [*last, *once] if decision == "acceptForSession" else [*once, *last]
    return next(iter(first), None)


def _answers(result: Message) -> tuple[tuple[str, str], ...]:
    """Return the first answer to each question, by the question's id."""
    answers = []
    for name, answer in read_object(result, "answers").items():
        given = answer.get("answers") if isinstance(answer, dict) else answer
        first = next(iter(given), None) if isinstance(given, list) else given
        if isinstance(first, str):
            answers.append((name, first))
    return tuple(answers)


def _questions(draft: Draft, given: Message) -> list[Value]:
    """Return what is asked, with the ids that answers name."""
    asked = read_objects(given, "questions")
    if not asked:
        return [{"id": "q1", "question": draft.text or draft.title or "", "options": []}]
    return [{**question, "id": f"q{n}"} for n, question in enumerate(asked, 1)]


def _option_fields(option: Option) -> dict[str, Value]:
    return {"id": option.id, "label": option.label, "effect": option.effect}
