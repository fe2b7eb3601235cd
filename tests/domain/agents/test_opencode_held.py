"""The questions that the plugin of opencode waits with."""

from typing import Any

import pytest

from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.opencode.held import OpencodeHeld
from atoll.domain.agents.terminal_question import MAX_PARTS, answer_part

# As opencode 1.18.33 sends them.
PERMISSION: dict[str, Any] = {
    "id": "per_1",
    "sessionID": "ses_1",
    "permission": "bash",
    "patterns": ["touch made"],
    "metadata": {"command": "touch made"},
    "always": ["touch *"],
}
QUESTION: dict[str, Any] = {
    "id": "que_1",
    "sessionID": "ses_1",
    "questions": [
        {"question": "Which?", "header": "Db", "options": [{"label": "A", "description": "a"}]}
    ],
}


def replied(request: Any, option: str | None, words: str | None = None) -> Any:
    message = {"hook_event_name": "PermissionRequest", "request": request}
    question = OpencodeHeld().read("held:1", message)
    assert question is not None
    card = CardLog().put(question.draft(), "2026-12-01T10:00:00.000Z")
    assert card is not None
    answered = answer_part(question, card, option, words)
    assert answered.denied == (option == "reject")
    return OpencodeHeld().reply(message, answered)


def test_permission_says_what_each_answer_allows_and_is_replied_as_it_is() -> None:
    question = OpencodeHeld().read("held:1", {"request": PERMISSION})
    assert question is not None
    assert question.draft().title == "Allow bash?"
    assert question.draft().text == "touch made\nAllow always covers: touch *"
    for option in ("once", "always", "reject"):
        assert replied(PERMISSION, option) == {"reply": option}


def test_permission_without_a_command_shows_its_patterns_or_all_it_has() -> None:
    given: list[dict[str, Any]] = [{"patterns": ["a.txt"]}, {"metadata": {"x": 1}}]
    shown = [
        OpencodeHeld().read("held:1", {"request": {"permission": "edit", **more}}) for more in given
    ]
    assert [one.draft().text for one in shown if one] == ["a.txt", '{"x":1}']


def test_question_is_replied_with_a_label_or_words() -> None:
    assert replied(QUESTION, "1") == {"answers": [["A"]]}
    assert replied(QUESTION, None, "Another") == {"answers": [["Another"]]}


@pytest.mark.parametrize("request_", [{}, {"questions": []}, {"questions": [{}]}, {"questions": 1}])
def test_event_that_asks_nothing_readable_is_no_question(request_: Any) -> None:
    assert OpencodeHeld().read("held:1", {"request": request_}) is None
    many: Any = [{"question": f"{number}?", "options": []} for number in range(MAX_PARTS + 1)]
    assert OpencodeHeld().read("held:1", {"request": {"questions": many}}) is None
    assert not OpencodeHeld().settles({}, "anything")
