"""ACP's updates as cards, message by message."""

from typing import Any

from atoll.domain.agents.acp.cards import AcpCards
from atoll.domain.agents.card import Began, CardKind, CardState, Draft, Value, Yielded
from atoll.domain.agents.lenient_json import MAX_REMEMBERED, Message


def update(cards: AcpCards, name: str, **fields: Any) -> list[Any]:
    params: dict[str, Value] = {"update": {"sessionUpdate": name, **fields}}
    return cards.take({"method": "session/update", "params": params})


def piece(cards: AcpCards, words: str, **fields: Any) -> str:
    (draft,) = update(cards, "agent_message_chunk", content={"text": words}, **fields)
    assert (draft.text, draft.append) == (words, True)
    return str(draft.id)


def test_pieces_in_a_row_are_one_message_until_something_comes_between() -> None:
    cards = AcpCards()
    first = piece(cards, "Hel")
    assert piece(cards, "lo") == first
    update(cards, "current_mode_update", currentModeId="x")
    assert piece(cards, "again") != first
    assert piece(cards, "named", messageId="m") != piece(cards, "other", messageId="n")
    assert update(cards, "agent_message_chunk", content={"type": "image"}) == []


def test_turn_that_failed_says_why_and_one_that_ended_oddly_has_failed() -> None:
    cards = AcpCards()
    cards.asked("go")
    status, turn, end = cards.ended("", "no key")
    assert isinstance(status, Draft) and isinstance(turn, Draft)
    assert (status.kind, status.text, turn.state) == (CardKind.STATUS, "no key", CardState.FAILED)
    assert end == Yielded()
    for reason, state in (
        ("end_turn", CardState.DONE),
        ("cancelled", CardState.DECLINED),
        ("max_tokens", CardState.FAILED),
    ):
        turn = cards.ended(reason)[0]
        assert isinstance(turn, Draft) and turn.state is state


def test_plan_is_a_list_and_done_when_all_of_it_is() -> None:
    cards = AcpCards()
    entries = [
        {"content": "read", "status": "completed"},
        {"content": "write", "status": "in_progress"},
        {"content": "test"},
    ]
    (plan,) = update(cards, "plan", entries=entries)
    assert (plan.text, plan.state) == ("[x] read\n[~] write\n[ ] test", CardState.RUNNING)
    (plan,) = update(cards, "plan", entries=entries[:1])
    assert plan.state is CardState.DONE
    (plan,) = update(cards, "plan", entries=[])
    assert plan.state is CardState.RUNNING


def test_edit_shows_its_diff_and_keeps_what_it_says_beside_it() -> None:
    content = [
        {"type": "content", "content": {"type": "text", "text": "Renamed."}},
        {"type": "diff", "path": "/w/a", "oldText": "a\nb", "newText": "c"},
        {"type": "terminal", "terminalId": "t"},
    ]
    (card,) = update(
        AcpCards(), "tool_call", toolCallId="t", kind="edit", status="completed",
        locations=[{"path": "/w/a"}], content=content,
    )  # fmt: skip
    assert (card.kind, card.state, card.text) == (CardKind.DIFF, CardState.DONE, "-a\n-b\n+c")
    assert card.data == {"path": "/w/a", "note": "Renamed."}


def test_tool_keeps_its_kind_and_tells_its_input() -> None:
    cards = AcpCards()
    (call,) = update(cards, "tool_call", toolCallId="t", kind="fetch", rawInput={"url": "u"})
    assert (call.kind, call.data) == (CardKind.TOOL_CALL, {"input": '{"url":"u"}'})
    (again,) = update(cards, "tool_call_update", toolCallId="t", kind="edit", status="failed")
    assert (again.kind, again.state) == (CardKind.TOOL_CALL, CardState.FAILED)
    for number in range(MAX_REMEMBERED):
        update(cards, "tool_call", toolCallId=f"{number}", kind="read")
    (later,) = update(cards, "tool_call_update", toolCallId="t", kind="edit")
    assert later.kind is CardKind.DIFF


def test_command_that_is_asked_for_is_shown_once() -> None:
    asks: Message = {
        "id": 7, "method": "session/request_permission",
        "params": {"toolCall": {"title": "rm -r x", "rawInput": {"command": "rm -r x"}}},
    }  # fmt: skip
    card, _ = AcpCards().take(asks)
    assert isinstance(card, Draft)
    assert (card.title, card.text) == ("Allow this command?", "rm -r x")


def test_tool_that_a_permission_is_the_first_to_name_has_a_card_of_what_it_will_do() -> None:
    cards = AcpCards()
    diff: Any = {"type": "diff", "path": "/w/a", "oldText": "a", "newText": "b"}
    note: Any = {"type": "content", "content": {"type": "text", "text": "[in /workspace]"}}
    call: Any = {"toolCallId": "t", "kind": "edit", "title": "Edit a", "content": [note, diff]}
    asks: Message = {
        "id": 7, "method": "session/request_permission", "params": {"toolCall": call},
    }  # fmt: skip
    tool, card, _ = cards.take(asks)
    assert isinstance(tool, Draft) and isinstance(card, Draft)
    assert (tool.id, tool.kind, tool.state) == ("t", CardKind.DIFF, CardState.RUNNING)
    assert (tool.title, tool.text, tool.data) == ("Edit a", "-a\n+b", {})
    assert (card.kind, (card.data or {})["for"]) == (CardKind.APPROVAL, "t")
    assert len(cards.take(asks)) == 2
    call = {"toolCallId": "u", "kind": "execute", "title": "ls", "content": [note]}
    tool, *_ = cards.take({**asks, "params": {"toolCall": call}})
    assert isinstance(tool, Draft) and (tool.title, tool.text) == ("ls", None)


def test_answer_to_a_permission_counts_once() -> None:
    cards = AcpCards()
    assert cards.answered("7", accepted=True) == []
    asks: Message = {"id": 7, "method": "session/request_permission", "params": {}}
    card, yielded = cards.take(asks)
    assert isinstance(card, Draft) and (card.title, yielded) == ("Allow this?", Yielded())
    declined, began = cards.answered("7", accepted=False)
    assert isinstance(declined, Draft) and (declined.state, began) == (CardState.DECLINED, Began())
    assert cards.answered("7", accepted=True) == []
    assert cards.take({"method": "something/else"}) == []
