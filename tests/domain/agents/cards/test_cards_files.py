"""What Gemini CLI, Qwen Code and opencode write down at a terminal, tool by tool."""

from collections.abc import Sequence
from typing import Any

import pytest

from atoll.domain.agents.card import Card, CardKind, CardState, Draft
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.message_parts.cards import GeminiCards, QwenCards
from atoll.domain.agents.opencode.cards import OpencodeCards
from tests.domain.agents.cards.replay import AT, Plain


def told(reader: Plain, messages: Sequence[dict[str, Any]]) -> list[Card]:
    log = CardLog()
    for message in messages:
        for one in reader.take(message):
            assert isinstance(one, Draft)
            log.put(one, AT)
    return log.all()


def qwen(name: str, kind: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"uuid": name, "type": kind, "message": {"parts": list(parts)}, **more}


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"id": f"c-{name}", "name": name, "args": args}}


def result(name: str, **response: str) -> dict[str, Any]:
    return {"functionResponse": {"id": f"c-{name}", "response": response}}


@pytest.mark.parametrize(
    ("begun", "ended", "status", "card"),
    [
        (
            call("edit", file_path="/w/a", old_string="x", new_string="y"),
            result("edit", output="ok"),
            "success",
            (CardKind.DIFF, CardState.DONE, "/w/a", "-x\n+y", {"path": "/w/a", "note": "ok"}),
        ),
        (
            call("write_file", file_path="/w/b", content="z"),
            result("write_file", error="no room"),
            "error",
            (CardKind.DIFF, CardState.FAILED, "/w/b", "+z", {"path": "/w/b", "error": "no room"}),
        ),
        (
            call("read_file", absolute_path="/w/c"),
            result("read_file"),
            "success",
            (CardKind.FILE, CardState.DONE, "/w/c", "", {"path": "/w/c"}),
        ),
        (
            call("run_shell_command", command="make\ntest"),
            result("run_shell_command", output="1 failed"),
            "cancelled",
            (CardKind.BASH, CardState.DECLINED, "make", "1 failed", {"command": "make\ntest"}),
        ),
        (
            call("board", note="n"),
            result("board", output="pinned"),
            "success",
            (
                CardKind.TOOL_CALL,
                CardState.DONE,
                "board",
                "pinned",
                {"tool": "board", "input": '{"note":"n"}'},
            ),
        ),
    ],
)
def test_qwen_tool_becomes_its_card(
    begun: dict[str, Any], ended: dict[str, Any], status: str, card: tuple[Any, ...]
) -> None:
    (shown,) = told(
        QwenCards(),
        [
            qwen("m", "assistant", begun),
            qwen("r", "tool_result", ended, toolCallResult={"status": status}),
        ],
    )
    assert (shown.kind, shown.state, shown.title, shown.text, shown.data) == card


def test_qwen_turn_ends_with_an_answer_or_with_the_next_prompt() -> None:
    shown = told(
        QwenCards(),
        [
            qwen("u1", "user", {"text": "first"}),
            qwen("a1", "assistant", {"text": "hm", "thought": True}, {}, call("board")),
            qwen("u2", "user", {"text": "second"}),
            qwen("u3", "user", {"functionResponse": {}}),
            qwen("s", "system"),
            qwen("r9", "tool_result", result("unknown")),
        ],
    )
    turns = [(card.title, card.state) for card in shown if card.kind is CardKind.TURN]
    assert turns == [("first", CardState.DONE), ("second", CardState.RUNNING)]
    assert [card.text for card in shown if card.kind is CardKind.THINKING] == ["hm"]


def test_request_that_qwens_provider_refused_says_why() -> None:
    event = {"event.name": "qwen-code.api_error", "error_message": "400 no credit"}
    refused = {"uuid": "s", "type": "system", "systemPayload": {"uiEvent": event}}
    other = {"uuid": "s", "type": "system", "systemPayload": {"uiEvent": {"event.name": "x"}}}
    (card,) = told(QwenCards(), [refused, refused, other])
    assert (card.kind, card.state, card.text) == (
        CardKind.STATUS,
        CardState.FAILED,
        "400 no credit",
    )


def test_gemini_message_that_grows_is_one_answer() -> None:
    asked = {"id": "u", "type": "user", "content": [{"text": "go"}]}
    answer = {"id": "g", "type": "gemini", "content": "I will.", "thoughts": [{"subject": "s"}]}
    running = {"id": "t1", "name": "replace", "args": {"file_path": "/a"}, "status": "executing"}
    failed = {
        "id": "t1",
        "name": "replace",
        "args": {"file_path": "/a"},
        "status": "error",
        "result": [{"functionResponse": {"response": {"error": "no"}}}],
    }
    reader = GeminiCards()
    shown = told(
        reader,
        [
            asked,
            {**answer, "toolCalls": [running]},
            {**answer, "toolCalls": [failed]},
            {"id": "i", "type": "error", "content": "quota"},
            {"id": "w", "type": "info", "content": "hello"},
            {"id": "e", "type": "user", "content": []},
            {"$set": {}},
        ],
    )
    assert [(card.kind, card.state) for card in shown] == [
        (CardKind.TURN, CardState.FAILED),
        (CardKind.TEXT, CardState.DONE),
        (CardKind.THINKING, CardState.DONE),
        (CardKind.TEXT, CardState.DONE),
        (CardKind.DIFF, CardState.FAILED),
        (CardKind.STATUS, CardState.FAILED),
        (CardKind.STATUS, CardState.DONE),
    ]
    assert shown[4].data == {"path": "/a", "error": "no"}


def event(kind: str, **properties: Any) -> dict[str, Any]:
    return {"type": kind, "properties": properties}


def piece(kind: str, **fields: Any) -> dict[str, Any]:
    part = {"id": "p", "messageID": "m", "type": kind, **fields}
    return event("message.part.updated", part=part)


def tool(name: str, status: str, output: str = "", **given: Any) -> dict[str, Any]:
    state = {"status": status, "input": given, "output": output}
    return piece("tool", tool=name, callID="c", state=state)


@pytest.mark.parametrize(
    ("told_by", "card"),
    [
        (
            tool("edit", "completed", filePath="/a", oldString="x", newString="y"),
            (CardKind.DIFF, CardState.DONE, "/a", "-x\n+y", {"path": "/a"}),
        ),
        (
            tool("write", "error", "no", filePath="/a", content="z"),
            (CardKind.DIFF, CardState.FAILED, "/a", "+z", {"path": "/a", "error": "no"}),
        ),
        (
            tool("read", "completed", "text", filePath="/a"),
            (CardKind.FILE, CardState.DONE, "/a", "", {"path": "/a"}),
        ),
        (
            tool(
                "todowrite",
                "running",
                todos=[{"content": "one", "status": "completed"}, {"content": "two"}],
            ),
            (CardKind.PLAN, CardState.RUNNING, "Plan", "[x] one\n[ ] two", {}),
        ),
        (
            tool("webfetch", "completed", "page", url="u"),
            (
                CardKind.TOOL_CALL,
                CardState.DONE,
                "webfetch",
                "page",
                {"tool": "webfetch", "input": '{"url":"u"}'},
            ),
        ),
        (tool("bash", "running"), (CardKind.BASH, CardState.RUNNING, "", "", {})),
        (piece("reasoning", text="hm"), (CardKind.THINKING, CardState.DONE, "", "hm", {})),
    ],
)
def test_opencode_event_becomes_its_card(told_by: dict[str, Any], card: tuple[Any, ...]) -> None:
    (shown,) = told(OpencodeCards(), [told_by])
    assert (shown.kind, shown.state, shown.title, shown.text, shown.data) == card


@pytest.mark.parametrize(
    ("end", "state", "said"),
    [
        (event("session.idle"), CardState.DONE, []),
        (event("session.error", error={"name": "MessageAbortedError"}), CardState.DECLINED, []),
        (
            event("session.error", error={"name": "E", "data": {"message": "quota"}}),
            CardState.FAILED,
            ["quota"],
        ),
    ],
)
def test_opencode_turn_ends_as_its_session_does(
    end: dict[str, Any], state: CardState, said: list[str]
) -> None:
    user = event("message.updated", info={"id": "m", "role": "user"})
    added = piece("text", text="added", synthetic=True)
    shown = told(OpencodeCards(), [user, piece("text", text="go"), added, end, event("else")])
    assert [card.state for card in shown if card.kind is CardKind.TURN] == [state]
    assert [card.text for card in shown if card.kind is CardKind.STATUS] == said
    assert told(OpencodeCards(), [event("session.idle"), piece("step-start")]) == []
