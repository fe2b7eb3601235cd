"""Claude Code's messages as cards, message by message; whole recordings are in test_goldens."""

from typing import Any

import pytest

from atoll.domain.agents.card import Began, CardKind, CardState, Draft, Interrupted, Value, Yielded
from atoll.domain.agents.claude_code.cards import ClaudeCards
from atoll.domain.agents.lenient_json import MAX_REMEMBERED, Message


def says(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "uuid": "u", "message": {"content": list(blocks)}}


def uses(name: str, card_id: str = "t", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": card_id, "name": name, "input": given}


def tool(name: str, **given: Any) -> Draft:
    (card,) = ClaudeCards().take(says(uses(name, **given)))
    assert isinstance(card, Draft)
    return card


def person(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": "p", "message": {"content": content}, **more}


def piece(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": kind, **fields}}


def result_of(content: Any, name: str, *, is_error: bool, **more: Any) -> Draft:
    """What a tool's result adds to its card."""
    cards = ClaudeCards()
    cards.take(says(uses(name)))
    block = {
        "type": "tool_result", "tool_use_id": "t", "content": content, "is_error": is_error,
    }  # fmt: skip
    (card,) = cards.take(person([block], toolUseResult=more))
    assert isinstance(card, Draft)
    return card


def test_edits_of_every_tool_are_diffs() -> None:
    assert tool("Write", file_path="/a", content="x\ny").text == "+x\n+y"
    pairs = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    many = tool("MultiEdit", file_path="/a", edits=pairs)
    assert (many.kind, many.title, many.text) == (CardKind.DIFF, "/a", "-a\n+b\n-c\n+d")
    assert tool("NotebookEdit", notebook_path="/n", new_source="1").text == "+1"


def test_file_read_plan_and_list_of_tasks_have_their_kinds() -> None:
    read = tool("Read", file_path="/a")
    assert (read.kind, read.data) == (CardKind.FILE, {"path": "/a"})
    plan = tool("ExitPlanMode", plan="1. x")
    assert (plan.kind, plan.title, plan.text) == (CardKind.PLAN, "The agent's plan", "1. x")
    todos = [{"content": "x", "status": "in_progress"}, {"content": "y"}]
    assert tool("TodoWrite", todos=todos).text == "[~] x\n[ ] y"


def test_question_in_a_transcript_shows_but_cannot_be_answered_there() -> None:
    question = {"question": "Which?", "options": [{"label": "A"}, {"label": ""}, {}]}
    card = tool("AskUserQuestion", questions=[question, {}])
    assert (card.kind, card.state, card.text) == (CardKind.QUESTION, CardState.PENDING, "Which?")
    assert [one.id for one in card.options or ()] == ["A"]
    assert card.data == {"answerable": False}


def test_any_other_tool_is_called_by_its_name() -> None:
    card = tool("mcp__x__y", deep={"a": [1]})
    assert (card.kind, card.title) == (CardKind.TOOL_CALL, "mcp__x__y")
    assert card.data == {"tool": "mcp__x__y", "input": '{"deep":{"a":[1]}}'}


@pytest.mark.parametrize(
    ("name", "is_error", "more", "state"),
    [
        ("Bash", False, {}, CardState.DONE),
        ("Bash", True, {}, CardState.FAILED),
        ("Bash", True, {"interrupted": True}, CardState.DECLINED),
        ("Glob", False, {}, CardState.DONE),
    ],
)
def test_result_of_a_command_is_its_text(
    name: str, is_error: bool, more: dict[str, Any], state: CardState
) -> None:
    content = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    card = result_of(content, name, is_error=is_error, **more)
    assert (card.text, card.state) == ("one\ntwo", state)


def test_result_of_an_edit_keeps_the_diff_and_tells_what_failed() -> None:
    assert result_of("File not found", "Edit", is_error=True).data == {"error": "File not found"}
    assert result_of("fine", "Edit", is_error=False).text is None


def test_result_of_a_tool_long_forgotten_is_a_card_of_its_own() -> None:
    cards = ClaudeCards()
    cards.take(says(uses("Read", "first")))
    for number in range(MAX_REMEMBERED):
        cards.take(says(uses("Read", f"{number}")))
    block = {"type": "tool_result", "tool_use_id": "first", "content": "x"}
    (card,) = cards.take(person([block]))
    assert isinstance(card, Draft) and card.kind is CardKind.TOOL_CALL


def test_what_a_program_put_into_the_conversation_begins_no_turn() -> None:
    cards = ClaudeCards()
    for message in (
        person("reminder", isMeta=True),
        person("side", isSidechain=True),
        person("sub", parent_tool_use_id="t"),
        person("<command-name>/clear"),
        person([{"type": "image"}]),
    ):
        assert cards.take(message) == []
    turn, *_ = cards.take(person([{"type": "text", "text": "do it"}]))
    assert isinstance(turn, Draft) and (turn.kind, turn.title) == (CardKind.TURN, "do it")


def test_interrupted_turn_is_declined_and_frees_the_terminal() -> None:
    cards = ClaudeCards()
    cards.take(person("do it"))
    turn, *rest = cards.take(person([{"type": "text", "text": "[Request interrupted by user]"}]))
    assert isinstance(turn, Draft) and turn.state is CardState.DECLINED
    assert rest == [Yielded(), Interrupted()]


def test_message_is_streamed_block_for_block_then_ends_as_the_same_cards() -> None:
    cards = ClaudeCards()
    assert cards.take(piece("message_start")) == []
    starts = [
        cards.take(piece("content_block_start", index=at, content_block={"type": kind}))
        for at, kind in enumerate(("thinking", "text", "tool_use"))
    ]
    assert [[one.id for one in said if isinstance(one, Draft)] for said in starts] == [
        ["m1:0"], ["m1:1"], [],
    ]  # fmt: skip
    assert [len(said) for said in starts] == [1, 1, 0]
    (grows,) = cards.take(
        piece("content_block_delta", index=1, delta={"type": "text_delta", "text": "Hi"})
    )
    assert isinstance(grows, Draft) and (grows.id, grows.text, grows.append) == ("m1:1", "Hi", True)
    partial = {"type": "input_json_delta", "partial_json": "{"}
    assert cards.take(piece("content_block_delta", index=2, delta=partial)) == []
    assert cards.take(piece("message_stop")) == []
    whole = cards.take(
        says({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}, {"type": "x"})
    )
    assert [one.id for one in whole if isinstance(one, Draft)] == ["m1:0", "m1:1"]


def test_turn_that_fails_says_why_and_ends() -> None:
    cards = ClaudeCards()
    cards.asked("go")
    status, turn, end = cards.take(
        {"type": "result", "subtype": "error_max_turns", "is_error": True, "duration_ms": 5}
    )
    assert isinstance(status, Draft) and isinstance(turn, Draft)
    assert (status.text, turn.state, turn.data) == (
        "error_max_turns", CardState.FAILED, {"milliseconds": 5},
    )  # fmt: skip
    assert end == Yielded()
    assert cards.take({"type": "result"}) == [Yielded()]


def test_transcript_of_a_turn_that_the_provider_refused_says_why_and_ends() -> None:
    cards = ClaudeCards()
    cards.take(person("go"))
    refused = says({"type": "text", "text": "API Error: 400 no credit"})
    status, turn, end = cards.take({**refused, "isApiErrorMessage": True, "parentUuid": "p"})
    assert isinstance(status, Draft) and isinstance(turn, Draft)
    assert (status.kind, status.state, status.text) == (
        CardKind.STATUS, CardState.FAILED, "API Error: 400 no credit",
    )  # fmt: skip
    assert (turn.kind, turn.state, end) == (CardKind.TURN, CardState.FAILED, Yielded())
    assert cards.take({"type": "system", "subtype": "turn_duration"}) == [Yielded()]


def test_what_the_system_tells_is_shown_as_it_is_meant() -> None:
    def told(subtype: str, **more: Any) -> list[Any]:
        return ClaudeCards().take({"type": "system", "subtype": subtype, "uuid": "u", **more})

    (init,) = told("init", claude_code_version="2.1", model="m")
    assert (init.title, init.text) == ("Claude Code 2.1", "m")
    (error,) = told("api_error", error={"message": "overloaded"})
    assert (error.id, error.state, error.text) == ("error:u", CardState.FAILED, "overloaded")
    (compact,) = told("compact_boundary")
    assert compact.state is CardState.DONE
    assert told("turn_duration", durationMs=9) == [Yielded()]
    assert told("hook_started") == []
    assert ClaudeCards().take({"type": "rate_limit_event"}) == []


def test_permission_waits_and_other_requests_show_nothing() -> None:
    cards = ClaudeCards()
    request: Value = {"subtype": "can_use_tool", "tool_name": "Write", "input": {"file_path": "/a"}}
    asks: Message = {"type": "control_request", "request_id": "r", "request": request}
    card, end = cards.take(asks)
    assert isinstance(card, Draft)
    assert (card.title, card.text, card.state, end) == (
        "Allow Write?", "/a", CardState.PENDING, Yielded(),
    )  # fmt: skip
    done, began = cards.answered("r", accepted=True)
    assert isinstance(done, Draft) and (done.kind, began) == (CardKind.APPROVAL, Began())
    assert cards.take({"type": "control_request", "request": {"subtype": "hook_callback"}}) == []


def test_line_that_claude_wrote_in_its_models_place_is_no_message() -> None:
    line: dict[str, Value] = {
        "type": "assistant",
        "uuid": "u",
        "message": {
            "model": "<synthetic>",
            "content": [{"type": "text", "text": "No response requested."}],
        },
    }
    assert ClaudeCards().take({**line, "parentUuid": "p"}) == []
    assert ClaudeCards().take(line) != []
