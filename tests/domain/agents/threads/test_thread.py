"""Cards of one thread as events: each item completed once, in order, with what carried it."""

from typing import Any

import pytest

from atoll.domain.agents.card import CardKind, CardState, Draft, Yielded
from atoll.domain.agents.conversation import AgentEvent
from atoll.domain.agents.threads.items import MAX_PIECES
from atoll.domain.agents.threads.questions import Names, Questions
from atoll.domain.agents.threads.thread import ThreadEvents, carry_message
from tests.domain.agents.threads.story import told

RUNNING, DONE = CardState.RUNNING, CardState.DONE


def begun(thread: str = "t") -> ThreadEvents:
    events = ThreadEvents(thread, Questions(Names("s")))
    events.begins("u")
    return events


def piece(card_id: str, words: str, kind: CardKind = CardKind.TEXT) -> Draft:
    return Draft(card_id, kind, DONE, text=words, append=True)


def item(draft: Draft) -> Any:
    (event,) = begun().heard([draft])
    return event.params["item"]


def test_turn_begins_and_ends_once() -> None:
    events = ThreadEvents("t", Questions(Names("s")))
    assert events.ends() == ()
    (started,) = events.begins("u")
    assert started.params["threadId"] == "t"
    (ended,) = events.ends()
    assert ended.params["turn"] == {"id": "u", "status": "completed", "items": [], "error": None}
    assert events.ends() == ()


@pytest.mark.parametrize(
    ("drafts", "interrupted", "status", "error"),
    [
        ([Draft("turn:1", CardKind.TURN, CardState.DECLINED)], False, "interrupted", None),
        ([Draft("turn:1", CardKind.TURN, CardState.FAILED)], True, "interrupted", None),
        ([Draft("turn:1", CardKind.TURN, CardState.DONE)], True, "completed", None),
        ([Draft("turn:1", CardKind.TURN, CardState.FAILED)], False, "failed", "The turn failed."),
        (
            [
                Draft("e", CardKind.STATUS, CardState.FAILED, text="no credit"),
                Draft("turn:1", CardKind.TURN, CardState.FAILED),
            ],
            True,
            "failed",
            "no credit",
        ),
        ([Draft("e", CardKind.STATUS, CardState.DONE)], False, "completed", None),
    ],
)
def test_turn_ends_as_its_card_does(
    drafts: list[Draft], interrupted: bool, status: str, error: str | None
) -> None:
    events = begun()
    assert events.heard([*drafts, Yielded()]) == ()
    (ended,) = events.ends(interrupted=interrupted)
    turn: Any = ended.params["turn"]
    assert (turn["status"], turn["error"]) == (status, error and {"message": error})


def test_text_in_pieces_is_one_item_once_something_else_comes() -> None:
    events = begun()
    assert told(events.heard([piece("a", "He")])) == ["item/agentMessage/delta He"]
    (delta,) = events.heard([piece("a", "llo")])
    assert delta.params == {"threadId": "t", "turnId": "u", "itemId": "u:a", "delta": "llo"}
    assert told(events.heard([piece("b", "Hm", CardKind.THINKING)])) == [
        "item/completed agentMessage Hello",
        "item/reasoning/textDelta Hm",
    ]
    tool = Draft("c", CardKind.BASH, RUNNING, data={"command": "ls"})
    assert told(events.heard([tool])) == [
        "item/completed reasoning Hm",
        "item/started commandExecution inProgress ls",
    ]
    assert events.heard([piece("a", "more")]) == ()
    events.heard([piece("d", "end")])
    assert told(events.ends()) == [
        "item/completed commandExecution failed ls",
        "item/completed agentMessage end",
        "turn/completed completed",
    ]


def test_text_with_an_end_of_its_own_replaces_its_pieces() -> None:
    events = begun()
    assert events.heard([Draft("a", CardKind.TEXT, RUNNING, text="")]) == ()
    (piece,) = events.heard([Draft("a", CardKind.TEXT, text="Hel", append=True)], name="m1")
    assert piece.live and piece.params["itemId"] == "m1:0" and piece.params["delta"] == "Hel"
    assert events.heard([Draft("a", CardKind.TEXT, text="", append=True)], name="m1") == ()
    (event,) = events.heard([Draft("a", CardKind.TEXT, DONE, text="Hello")], name="m1")
    assert event.params["item"] == {"type": "agentMessage", "id": "m1:0", "text": "Hello"}
    assert events.heard([Draft("a", CardKind.TEXT, DONE, text="Hello")]) == ()


def test_text_that_stays_empty_takes_no_name_from_the_next_one() -> None:
    events = begun()
    events.heard([Draft("a", CardKind.THINKING, RUNNING, text="")], name="m1")
    (piece,) = events.heard([Draft("b", CardKind.TEXT, text="Hel", append=True)], name="m1")
    assert piece.params["itemId"] == "m1:0"


def test_text_that_is_broken_off_is_kept_and_an_empty_one_is_not() -> None:
    events = begun()
    events.heard([Draft("a", CardKind.TEXT, RUNNING, text="")])
    events.heard([Draft("b", CardKind.TEXT, RUNNING, text="Hel")])
    assert told(events.ends()) == [
        "item/completed agentMessage Hel",
        "turn/completed completed",
    ]


def test_text_in_pieces_is_bounded() -> None:
    events = begun()
    for _ in range(3):
        events.heard([piece("a", "x" * (MAX_PIECES // 2))])
    first: Any = events.ends()[0].params["item"]
    assert (len(first["text"]), first["cut"]) == (MAX_PIECES, True)


def test_prompt_has_the_name_of_its_message_also_in_pieces() -> None:
    words: dict[str, Any] = {"role": "person"}
    events = begun()
    whole = Draft("user:1", CardKind.TEXT, DONE, text="Hi", data=words)
    (event,) = events.heard([whole], name="u1")
    shown = {"type": "userMessage", "id": "u1", "content": [{"type": "text", "text": "Hi"}]}
    assert event.params == {"threadId": "t", "turnId": "u", "item": shown}
    events.heard([Draft("said:1", CardKind.TEXT, DONE, text="Hi", data=words, append=True)])
    assert told(events.ends())[0] == "item/completed userMessage Hi"


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        (
            Draft("i", CardKind.BASH, DONE, text="out", data={"command": "ls", "exit_code": 0}),
            {"type": "commandExecution", "command": "ls", "aggregatedOutput": "out", "exitCode": 0},
        ),
        (
            Draft("i", CardKind.DIFF, CardState.DECLINED, title="a.py", text="+1"),
            {"type": "fileChange", "changes": [{"path": "a.py", "diff": "+1"}]},
        ),
        (
            Draft("i", CardKind.FILE, DONE, title="a.py", data={"path": "a.py"}),
            {"type": "dynamicToolCall", "tool": "a.py", "arguments": {"path": "a.py"},
             "contentItems": []},
        ),
        (
            Draft("i", CardKind.TOOL_CALL, DONE, text="r", data={"tool": "x", "input": '{"a":1}'}),
            {"type": "dynamicToolCall", "tool": "x", "arguments": {"a": 1},
             "contentItems": [{"type": "inputText", "text": "r"}]},
        ),
        (
            Draft("i", CardKind.TOOL_CALL, DONE, data={"input": "{"}),
            {"type": "dynamicToolCall", "tool": "tool-call", "arguments": "{", "contentItems": []},
        ),
    ],
)  # fmt: skip
def test_tool_is_an_item(draft: Draft, shown: dict[str, Any]) -> None:
    status = "declined" if draft.state is CardState.DECLINED else "completed"
    assert item(draft) == {"id": "i", "status": status, **shown}


def test_plan_is_completed_as_it_stands_when_its_turn_ends() -> None:
    events = begun()
    plan = Draft("p", CardKind.PLAN, RUNNING, title="Plan", text="[ ] one")
    assert told(events.heard([plan])) == ["item/started plan [ ] one"]
    events.heard([Draft("p", CardKind.PLAN, RUNNING, text="[x] one")])
    assert told(events.ends())[0] == "item/completed plan [x] one"


def test_question_is_about_an_item_and_is_withdrawn_with_its_turn() -> None:
    events = begun()
    events.heard([Draft("c", CardKind.BASH, RUNNING, data={"command": "ls"})])
    wants = Draft("approval:1", CardKind.APPROVAL, CardState.PENDING, data={"for": "c"})
    (asked,) = events.heard([wants])
    assert asked.method == "item/commandExecution/requestApproval"
    assert told(events.ends()) == [
        "item/completed commandExecution failed ls",
        "serverRequest/resolved",
        "turn/completed completed",
    ]


def test_last_event_of_a_message_carries_it() -> None:
    one, two = AgentEvent("a", {}), AgentEvent("b", {}, "q")
    assert carry_message((one, two), "t", durable=True) == (
        one,
        AgentEvent("b", {}, "q", native=True),
    )
    assert carry_message((), "t", durable=True) == (
        AgentEvent("agent/message", {"threadId": "t"}, native=True),
    )
    assert carry_message((one,), "t", durable=False) == (one,)
    assert carry_message((), "t", durable=False) == ()
