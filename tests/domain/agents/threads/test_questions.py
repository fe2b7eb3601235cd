"""Questions under ids of ours: their events, and what an answer means."""

from typing import Any

import pytest

from atoll.domain.agents.card import CardKind, CardState, Draft, Option, Value
from atoll.domain.agents.threads.questions import CardAnswer, Names, Question, Questions, decide
from atoll.domain.errors import Conflict, Invalid

ALLOW, ALWAYS = Option("allow", "Allow", "allow"), Option("always", "Always", "allow")
DENY = Option("deny", "Deny", "deny")
OFTEN = Option("as-always", "Allow", "allow")


def approval(*options: Option, **data: Value) -> Draft:
    return Draft(
        "approval:1",
        CardKind.APPROVAL,
        CardState.PENDING,
        title="Allow?",
        text="ls",
        options=options,
        data=data,
    )


def question(*options: Option, **data: Value) -> Question:
    return Question("q", "t", approval(*options, **data))


def asked(draft: Draft, about: CardKind | None = None, **given: Value) -> Any:
    return Questions(Names("s")).asked(draft, "t", "u", about=about, given=given)


@pytest.mark.parametrize(
    ("about", "method", "field"),
    [
        (CardKind.BASH, "item/commandExecution/requestApproval", "command"),
        (CardKind.DIFF, "item/fileChange/requestApproval", "detail"),
        (CardKind.FILE, "item/toolCall/requestApproval", "detail"),
        (None, "item/toolCall/requestApproval", "detail"),
    ],
)
def test_approval_is_named_by_what_it_is_about(
    about: CardKind | None, method: str, field: str
) -> None:
    event = asked(approval(ALLOW, **{"for": "i1"}), about)
    assert (event.method, event.params[field], event.params["itemId"]) == (method, "ls", "i1")
    assert event.params["options"] == [{"id": "allow", "label": "Allow", "effect": "allow"}]
    assert (event.params["threadId"], event.params["turnId"], event.id != "") == ("t", "u", True)


def test_approval_of_nothing_in_particular_has_no_detail() -> None:
    draft = Draft("approval:1", CardKind.APPROVAL, CardState.PENDING)
    event = asked(draft)
    assert sorted(event.params) == ["options", "reason", "threadId", "turnId"]


def test_question_lists_what_is_asked() -> None:
    draft = Draft("approval:1", CardKind.QUESTION, CardState.PENDING, text="Which?")
    assert asked(draft).params["questions"] == [{"id": "q1", "question": "Which?", "options": []}]
    both: list[Value] = [{"question": "One?"}, {"question": "Two?", "id": "mine"}]
    event = asked(draft, questions=both)
    assert event.method == "item/tool/requestUserInput"
    assert [one["id"] for one in event.params["questions"]] == ["q1", "q2"]


def test_settled_question_waits_no_longer() -> None:
    questions = Questions(Names("s"))
    another = Draft("approval:0", CardKind.APPROVAL, CardState.PENDING)
    questions.asked(another, "t", "u", about=None, given={})
    event = questions.asked(approval(), "t", "u", about=None, given={})
    assert questions.find(event.id).draft.id == "approval:1"
    (told,) = questions.settled("approval:1")
    assert told.params == {"threadId": "t", "requestId": event.id}
    assert questions.settled("approval:1") == ()
    with pytest.raises(Conflict) as refusal:
        questions.find(event.id)
    assert refusal.value.code == "conflict"


def test_end_of_a_turn_withdraws_the_questions_of_its_thread() -> None:
    questions = Questions(Names("s"))
    questions.asked(approval(), "t", "u", about=None, given={})
    assert questions.withdrawn("other") == ()
    assert len(questions.withdrawn("t")) == 1


@pytest.mark.parametrize(
    ("options", "decision", "option"),
    [
        ((ALLOW, ALWAYS, DENY), "accept", "allow"),
        ((ALWAYS, ALLOW, DENY), "accept", "allow"),
        ((ALLOW, ALWAYS, DENY), "acceptForSession", "always"),
        ((ALLOW, DENY), "acceptForSession", "allow"),
        ((ALLOW, DENY), "decline", "deny"),
        ((ALLOW, DENY), "cancel", "deny"),
        ((ALLOW,), "decline", None),
        ((ALLOW, OFTEN, DENY), "accept", "allow"),
    ],
)
def test_decision_means_an_option_by_its_kind_and_never_by_its_id(
    options: tuple[Option, ...], decision: str, option: str | None
) -> None:
    asks = question(*options, lasting=["always"])
    found = decide(asks, {"result": {"decision": decision, "text": "why"}})
    assert found == CardAnswer(option, "why", ends=decision == "cancel")


def test_option_may_be_named_and_an_error_declines() -> None:
    named = decide(question(ALLOW, DENY), {"result": {"option": "deny", "text": "no"}})
    assert named == CardAnswer("deny", "no")
    assert decide(question(ALLOW, DENY), {"error": {"code": 1}}) == CardAnswer("deny")


@pytest.mark.parametrize("result", [None, {}, {"decision": "yes"}, {"decision": 1}, []])
def test_answer_that_decides_nothing_is_refused(result: Any) -> None:
    with pytest.raises(Invalid, match="accept, acceptForSession, decline, cancel") as refusal:
        decide(question(ALLOW), {"result": result})
    assert (refusal.value.code, refusal.value.field) == ("invalid_request", "result")


def test_answers_are_read_by_question() -> None:
    one = Question("q", "t", Draft("approval:1", CardKind.QUESTION, CardState.PENDING))
    answers: dict[str, Value] = {
        "q1": {"answers": ["Red", "Blue"]},
        "q2": "Green",
        "q3": {"answers": []},
        "q4": 7,
    }
    found = decide(one, {"result": {"answers": answers}})
    assert found == CardAnswer(answers=(("q1", "Red"), ("q2", "Green")))
    assert decide(one, {"result": {"option": "Red"}}) == CardAnswer("Red")
    assert decide(one, {"result": {"text": "neither"}}) == CardAnswer(words="neither")
    assert one.card.options == ()
