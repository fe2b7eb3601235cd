"""A question of an agent at its terminal that can be answered from elsewhere, too.

Pure. A question may have several parts: they are asked one after the other, and the agent gets all
answers at once. How the answers reach it is the affair of its way (`domain.agents.held_hooks`,
`runtime.agents.questions`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atoll.domain.agents.card import Card, CardKind, CardState, Draft, Option, Value
from atoll.domain.agents.conversation import check_option
from atoll.domain.agents.lenient_json import Message, read_objects, read_text
from atoll.domain.errors import Invalid

MAX_PARTS = 8
MAX_OPTIONS = 6
"""The options of a part that are offered; the others are answered in words."""
ALLOW, DENY = "allow", "deny"


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """A single question of several: its words, and the answers that it offers."""

    text: str
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """The answer to one part: an option, or words."""

    option: str | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class TerminalQuestion:
    """A question, and the answers that were given to its first parts. `id` is its card's."""

    id: str
    kind: CardKind
    title: str
    parts: tuple[QuestionPart, ...]
    answers: tuple[PartAnswer, ...] = ()

    @property
    def is_answered(self) -> bool:
        """True once each part has its answer."""
        return len(self.answers) >= len(self.parts)

    @property
    def denied(self) -> bool:
        """True where the person declined what the agent wants to do."""
        return any(
            option.effect == "deny"
            for part, answer in zip(self.parts, self.answers, strict=False)
            for option in part.options
            if option.id == answer.option
        )

    def draft(self) -> Draft:
        """Return the card of its first part without an answer."""
        at = len(self.answers)
        part, several = self.parts[at], len(self.parts) > 1
        data: dict[str, Value] = {"answerable": True}
        return Draft(
            self.id,
            self.kind,
            CardState.PENDING,
            title=f"{self.title} ({at + 1} of {len(self.parts)})" if several else self.title,
            text=part.text,
            data=data,
            options=part.options,
        )

    def labels(self) -> tuple[str, ...]:
        """Return each answer as the agent takes it: the label of an option, or words."""
        return tuple(
            _label(part, answer) for part, answer in zip(self.parts, self.answers, strict=False)
        )


def answer_part(
    question: TerminalQuestion, card: Card, option: str | None, words: str | None
) -> TerminalQuestion:
    """Return the question with one more answer. Raises `Invalid`: only a question of the agent's
    takes words."""
    if words is not None and option is None:
        if question.kind is not CardKind.QUESTION:
            names = ", ".join(offered.id for offered in card.options)
            raise Invalid(f"option must be one of: {names}", field="option")
        answer = PartAnswer(words=words)
    else:
        answer = PartAnswer(option=check_option(card, option))
    return replace(question, answers=(*question.answers, answer))


def question_parts(given: Message) -> tuple[QuestionPart, ...]:
    """Return the parts of an agent's questions, in the JSON that Claude Code, Qwen and opencode
    share: each has a `question`, and options with a `label` and a `description`."""
    return tuple(
        _part(asked) for asked in read_objects(given, "questions") if read_text(asked, "question")
    )


def permission(card_id: str, title: str, about: str) -> TerminalQuestion:
    """Return the question whether the agent may do something, which `about` spells out."""
    options = (Option(ALLOW, "Allow", "allow"), Option(DENY, "Deny", "deny"))
    return TerminalQuestion(card_id, CardKind.APPROVAL, title, (QuestionPart(about, options),))


def numbered(labels: Sequence[str]) -> tuple[Option, ...]:
    """Return options under ids of ours: a label may hold anything."""
    return tuple(Option(str(n), label) for n, label in enumerate(labels, 1))[:MAX_OPTIONS]


def _part(asked: Message) -> QuestionPart:
    offered = [option for option in read_objects(asked, "options") if read_text(option, "label")]
    lines = [
        f"{read_text(option, 'label')}: {read_text(option, 'description')}"
        for option in offered
        if read_text(option, "description")
    ]
    several = "You may name several, parted by commas."
    many = asked.get("multiSelect") is True or asked.get("multiple") is True
    words = [read_text(asked, "question"), *lines, *([several] if many else [])]
    return QuestionPart(
        "\n".join(words), numbered([read_text(option, "label") for option in offered])
    )


def _label(part: QuestionPart, answer: PartAnswer) -> str:
    if answer.words is not None:
        return answer.words
    return next((option.label for option in part.options if option.id == answer.option), "")
