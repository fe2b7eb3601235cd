"""Talking to Claude Code over stream-json: permissions, questions, and what it takes back."""

from typing import Any

import pytest

from atoll.domain.agents.card import Card, CardKind, CardState, Draft
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.claude_code.conversation import ClaudeConversation
from atoll.domain.agents.conversation import AgentEvent, Step, Terms
from atoll.domain.agents.lenient_json import MAX_REMEMBERED, Message
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.domain.agents.cards.replay import AT


def wants(name: str, tool: str, **given: Any) -> dict[str, Any]:
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given}
    return {"type": "control_request", "request_id": name, "request": request}


def shown(step: Step) -> Card:
    log = CardLog()
    draft = next(one for one in step.said if isinstance(one, Draft))
    card = log.put(draft, AT)
    assert card is not None
    return card


def response(step: Step) -> Any:
    (line,) = step.send
    return line["response"]


def test_prompt_is_sent_once_and_the_next_after_the_result() -> None:
    talk = ClaudeConversation(Terms("/"))
    assert talk.begin().send[0]["request"] == {"subtype": "initialize", "hooks": None}
    (line,) = talk.ask("go").send
    assert line["message"] == {"role": "user", "content": [{"type": "text", "text": "go"}]}
    with pytest.raises(Conflict):
        talk.ask("and this")
    talk.take({"type": "result", "subtype": "success"})
    assert talk.ask("next").send


def test_interrupt_is_sent_only_while_it_works() -> None:
    talk = ClaudeConversation(Terms("/"))
    assert talk.interrupt() == Step()
    talk.ask("go")
    assert talk.interrupt().send[0]["request"] == {"subtype": "interrupt"}


def test_interrupt_before_claude_introduces_itself_is_sent_again() -> None:
    talk = ClaudeConversation(Terms("/"))
    init = {"type": "system", "subtype": "init", "session_id": "s"}
    talk.ask("go")
    assert talk.take(init).send == ()
    talk.take({"type": "result", "subtype": "success"})
    talk.ask("on")
    talk.interrupt()
    assert talk.take(init).send[0]["request"] == {"subtype": "interrupt"}
    talk.take({"type": "result", "subtype": "error_during_execution"})
    talk.ask("again")
    assert talk.take(init).send == ()


@pytest.mark.parametrize(
    ("words", "told"), [(None, "The person declined this."), ("use tabs", "use tabs")]
)
def test_denied_tool_is_told_why(words: str | None, told: str) -> None:
    talk = ClaudeConversation(Terms("/"))
    card = shown(talk.take(wants("r1", "Bash", command="rm -rf .")))
    with pytest.raises(Invalid):
        talk.answer(card, None, None)
    step = talk.answer(card, "deny", words)
    assert response(step)["response"] == {"behavior": "deny", "message": told}
    assert shown(step).state is CardState.DECLINED
    with pytest.raises(NotFound):
        talk.answer(card, "allow", None)


@pytest.mark.parametrize(
    ("option", "words", "said"), [("Red", None, "Red"), (None, "neither", "neither")]
)
def test_question_is_answered_by_an_option_or_in_words(
    option: str | None, words: str | None, said: str
) -> None:
    talk = ClaudeConversation(Terms("/"))
    question = {"question": "Which?", "options": [{"label": "Red"}, {"label": "Blue"}]}
    card = shown(talk.take(wants("r1", "AskUserQuestion", questions=[question])))
    assert (card.kind, card.text) == (CardKind.QUESTION, "Which?")
    with pytest.raises(Invalid, match="Red, Blue"):
        talk.answer(card, "Green", None)
    step = talk.answer(card, option, words)
    allowed = response(step)["response"]
    assert allowed["updatedInput"] == {"questions": [question], "answers": {"Which?": said}}
    assert shown(step).kind is CardKind.QUESTION


def test_question_without_options_takes_words_only() -> None:
    talk = ClaudeConversation(Terms("/"))
    card = shown(talk.take(wants("r1", "AskUserQuestion", questions=[{"question": "Why?"}])))
    with pytest.raises(Invalid, match="answer in words"):
        talk.answer(card, "", "")
    assert talk.answer(card, None, "because").send


def test_request_it_takes_back_is_declined_and_no_longer_waits() -> None:
    talk = ClaudeConversation(Terms("/"))
    card = shown(talk.take(wants("r1", "Bash", command="ls")))
    back = {"type": "control_cancel_request", "request_id": "r1"}
    assert shown(talk.take(back)).state is CardState.DECLINED
    kept = AgentEvent("agent/message", {"threadId": ""}, native=True)
    assert talk.take(back) == Step(events=(kept,))
    with pytest.raises(NotFound):
        talk.answer(card, "allow", None)


def test_request_that_waits_ends_with_its_turn() -> None:
    talk = ClaudeConversation(Terms("/"))
    talk.ask("go")
    card = shown(talk.take(wants("r1", "Bash", command="ls")))
    talk.take({"type": "result", "subtype": "error_during_execution", "is_error": True})
    with pytest.raises(NotFound):
        talk.answer(card, "allow", None)


def test_request_nobody_serves_is_refused_rather_than_left_waiting() -> None:
    asks: Message = {
        "type": "control_request", "request_id": "r9", "request": {"subtype": "mcp_message"}
    }  # fmt: skip
    refused = response(ClaudeConversation(Terms("/")).take(asks))
    assert (refused["subtype"], refused["request_id"]) == ("error", "r9")


def test_flood_of_requests_keeps_the_newest_only() -> None:
    talk = ClaudeConversation(Terms("/"))
    cards = [
        shown(talk.take(wants(f"r{number}", "Bash", command="ls")))
        for number in range(MAX_REMEMBERED + 1)
    ]
    with pytest.raises(NotFound):
        talk.answer(cards[0], "allow", None)
    assert talk.answer(cards[-1], "allow", None).send
