"""What agents that speak ACP ask, as seven of them were recorded: permissions, forms, questions."""

import json
from typing import Any

import pytest

from atoll.domain.agents.acp.conversation import AcpConversation
from atoll.domain.agents.acp.forms import Form, fill_form, read_form
from atoll.domain.agents.card import Card, CardKind, CardState, Draft
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.conversation import Step, Terms
from atoll.domain.errors import Invalid
from tests.domain.agents.cards.replay import AT
from tests.places import ROOT

LINES = [
    json.loads(line)
    for line in (ROOT / "tests/fixtures/acp-questions.jsonl").read_text().splitlines()
]
PERMISSIONS = [
    (one["agent"].split()[0], one["msg"])
    for one in LINES
    if one["msg"].get("method") == "session/request_permission"
    and "qwenQuestions" not in json.dumps(one["msg"])
]
FORMS = {
    one["agent"].split()[0]: one["msg"]
    for one in LINES
    if one["msg"].get("method") == "elicitation/create"
}
QWEN = next(one["msg"] for one in LINES if "qwenQuestions" in json.dumps(one["msg"]))


def talk(*, ask: bool = False) -> AcpConversation:
    found = AcpConversation(Terms("/workspace", ask=ask))
    (hello,) = found.begin().send
    able: Any = hello["params"]
    assert able["clientCapabilities"]["elicitation"] == {"form": {}}
    found.take({"id": 1, "result": {}})
    found.take({"id": 2, "result": {"sessionId": "s"}})
    return found


def pending(step: Step) -> Card:
    log = CardLog()
    draft = [one for one in step.said if isinstance(one, Draft)][-1]
    card = log.put(draft, AT)
    assert card is not None
    return card


def result(step: Step) -> Any:
    (line,) = step.send
    return line["result"]


@pytest.mark.parametrize(("agent", "message"), PERMISSIONS)
def test_permission_is_given_once_by_the_option_of_that_kind(agent: str, message: Any) -> None:
    (once,) = [
        one["optionId"] for one in message["params"]["options"] if one["kind"] == "allow_once"
    ]
    given = {"outcome": {"outcome": "selected", "optionId": once}}
    assert result(talk().take(message)) == given, agent
    asking = talk(ask=True)
    card = pending(asking.take(message))
    assert (card.kind, card.state) == (CardKind.APPROVAL, CardState.PENDING)
    assert result(asking.answer(card, once, None)) == given


@pytest.mark.parametrize("ask", [False, True])
def test_question_of_qwen_is_answered_by_its_choice_and_never_approved_by_itself(
    *, ask: bool
) -> None:
    asks = talk(ask=ask)
    step = asks.take(QWEN)
    assert step.send == ()
    card = pending(step)
    assert (card.kind, card.text) == (CardKind.QUESTION, "Which db?")
    assert [one.id for one in card.options] == ["SQLite", "Postgres", "decline"]
    assert result(asks.answer(card, "Postgres", None)) == {
        "outcome": {"outcome": "selected", "optionId": "proceed_once"},
        "answers": {"0": "Postgres"},
    }


def test_question_of_qwen_takes_other_words_and_may_be_declined() -> None:
    asks = talk()
    card = pending(asks.take(QWEN))
    assert result(asks.answer(card, None, "DuckDB"))["answers"] == {"0": "DuckDB"}
    card = pending(asks.take(QWEN))
    assert result(asks.answer(card, "decline", None)) == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize(
    ("agent", "words", "content"),
    [
        ("claude-agent-acp", "Postgres", {"question_0": "Postgres"}),
        ("claude-agent-acp", "none of them", {"question_0_custom": "none of them"}),
        ("kimi-code", "sqlite", {"q0": "SQLite"}),
        ("codex-acp", "Colour: red\nUrgent: yes", {"colour": "red", "urgent": True}),
        ("codex-acp", "colour: green\nnote: by hand", {"colour": "green", "note": "by hand"}),
    ],
)
def test_form_is_answered_in_words(agent: str, words: str, content: dict[str, Any]) -> None:
    asks = talk()
    step = asks.take(FORMS[agent])
    assert step.send == ()
    answered = asks.answer(pending(step), None, words)
    assert result(answered) == {"action": "accept", "content": content}
    assert [one.state for one in answered.said if isinstance(one, Draft)] == [CardState.DONE]


@pytest.mark.parametrize(
    ("agent", "words"),
    [("kimi-code", "Oracle"), ("codex-acp", "note: x"), ("codex-acp", "red"), ("kimi-code", " ")],
)
def test_answer_that_fits_no_field_is_refused_and_the_form_still_waits(
    agent: str, words: str
) -> None:
    asks = talk()
    card = pending(asks.take(FORMS[agent]))
    with pytest.raises(Invalid):
        asks.answer(card, None, words)
    assert result(asks.answer(card, "decline", None)) == {"action": "decline"}


def test_interrupt_cancels_a_form() -> None:
    asks = talk()
    asks.ask("go")
    asks.take(FORMS["kimi-code"])
    assert [line.get("result") for line in asks.interrupt().send] == [None, {"action": "cancel"}]


def test_worker_is_asked_each_field_and_answers_by_their_ids() -> None:
    asks = talk()
    asks.request("r1", "thread/start", {})
    step = asks.take({**FORMS["codex-acp"], "params": {**FORMS["codex-acp"]["params"]}})
    event = next(one for one in step.events if one.id)
    asked: Any = event.params["questions"]
    assert event.method == "item/tool/requestUserInput"
    assert [(one["id"], one["header"]) for one in asked][:2] == [("q1", "Colour"), ("q2", "Note")]
    answers: Any = {"q1": {"answers": ["red"]}, "q3": {"answers": ["no"]}}
    answered = asks.request(
        "r2", "serverRequest/respond", {"requestId": event.id, "result": {"answers": answers}}
    )
    told = [line["result"] for line in answered.send]
    assert told == [{"action": "accept", "content": {"colour": "red", "urgent": False}}]


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "title": "Count"},
        "x": {"type": "number", "title": "Size"},
        "tags": {"type": "array", "title": "Tags", "items": {"enum": ["a", "b"]}},
        "named": {"type": "string", "title": "Named", "enum": ["1"], "enumNames": ["One"]},
    },
    "required": ["n"],
}


def form_of(schema: Any, message: str = "") -> Form:
    return read_form({"message": message, "requestedSchema": schema})


def test_form_reads_numbers_lists_and_named_choices() -> None:
    form = form_of(SCHEMA, "Please.")
    assert "Count: …" in form.card_text and "Tags (optional): a, b" in form.card_text
    assert [one.id for one in form.options] == ["decline"]
    words = "Count: 3\nSize: 1.5\nTags: a, b\nNamed: One\n\nn: 3"
    filled = fill_form(form, None, words, {})
    assert filled == {"n": 3, "x": 1.5, "tags": ["a", "b"], "named": "1"}


@pytest.mark.parametrize(
    "line",
    [
        *("Count: x", "Count: 1\nSize: y", "Count: 1\nTags: c", "Urgent: z", "Count:"),
        *("Count: nan", "Count: 1\nSize: nan", "Count: 1\nSize: -inf", "Count: 1\nSize: 1e999"),
    ],
)
def test_form_refuses_a_value_of_another_kind(line: str) -> None:
    with pytest.raises(Invalid):
        fill_form(form_of(SCHEMA), None, line, {})


def test_form_without_fields_is_accepted_or_declined_and_garbage_is_none() -> None:
    form = form_of({"properties": "x"}, "Go on?")
    assert [one.id for one in form.options] == ["accept", "decline"]
    assert fill_form(form, "accept", None, {}) == {}
    odd = form_of({"properties": {"a": 3, "b": {"enum": 4}}, "required": "a"})
    assert [one.choices for one in odd.fields] == [(), ()]


def test_boolean_takes_yes_and_no_only() -> None:
    form = form_of({"properties": {"sure": {"type": "boolean"}}})
    assert form.card_text == "sure" and [one.id for one in form.options] == ["yes", "no", "decline"]
    assert fill_form(form, "yes", None, {}) == {"sure": True}
    with pytest.raises(Invalid):
        fill_form(form, None, "perhaps", {})


def test_several_choices_beside_free_words_take_either() -> None:
    question = {
        "question": "Which?",
        "multiSelect": True,
        "options": [{"label": "a"}, {"label": "b"}],
    }
    message: Any = {
        "id": 7,
        "method": "session/request_permission",
        "params": {
            "options": [{"optionId": "go", "kind": "allow_once"}],
            "toolCall": {"_meta": {"qwenQuestions": [question, question]}},
        },
    }
    asks = talk()
    card = pending(asks.take(message))
    assert [one.id for one in card.options] == ["decline"]
    asked = asks._requests["7"].form
    assert asked is not None
    assert fill_form(asked, None, None, {"q1": "b, a", "q2": "c"}) == {"0": "b, a", "1": "c"}
