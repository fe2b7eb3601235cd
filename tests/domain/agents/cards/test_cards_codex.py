"""Codex's messages as cards under their three spellings, message by message."""

from typing import Any

import pytest

from atoll.domain.agents.card import Began, CardKind, CardState, Draft, Interrupted, Value, Yielded
from atoll.domain.agents.codex.cards import CodexCards
from atoll.domain.agents.codex.files import CodexExecCards, CodexRolloutCards
from atoll.domain.agents.codex.items import command_text, item_card, plan_text


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": params}


def item(kind: str, *, done: bool = True, **fields: Any) -> Draft:
    card = item_card({"type": kind, "id": "i", **fields}, done=done)
    assert card is not None
    return card


def rollout(kind: str, **fields: Any) -> list[Any]:
    payload = {"type": kind, "turn_id": "t", **fields}
    return CodexRolloutCards().take({"type": "event_msg", "payload": payload})


def called(name: str, arguments: str, call_id: str = "c") -> list[Any]:
    payload: Value = {
        "type": "function_call",
        "name": name,
        "call_id": call_id,
        "arguments": arguments,
    }
    return CodexRolloutCards().take({"type": "response_item", "payload": payload})


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["bash", "-lc", "ls -l"], "ls -l"),
        (["git", "log", 5, "-1"], "git log -1"),
        ("/bin/bash -lc 'echo '\\''a'\\'''", "echo 'a'"),
        ("/bin/bash -lc \"sed -i 's/a/b/' x\"", "sed -i 's/a/b/' x"),
        ("/bin/bash -lc \"a 'b\"c'd", "/bin/bash -lc \"a 'b\"c'd"),
        ("bash -x y", "bash -x y"),
        (5, ""),
    ],
)
def test_command_is_shown_without_the_shell_around_it(command: Any, shown: str) -> None:
    assert command_text({"command": command}) == shown


def test_command_failed_by_its_exit_code_whatever_its_status() -> None:
    card = item("commandExecution", command="x", status="completed", exitCode=2)
    assert (card.state, card.data) == (CardState.FAILED, {"command": "x", "exit_code": 2})
    assert item("CommandExecution", command="x", done=False).state is CardState.RUNNING
    assert item("command_execution", command="x", status="declined").state is CardState.DECLINED


def test_plan_under_each_spelling_is_a_list() -> None:
    steps: Value = [{"step": "a", "status": "completed"}, {"step": "b", "status": "inProgress"}]
    assert plan_text({"plan": steps}) == "[x] a\n[~] b"
    todo = item("todo_list", items=[{"text": "a", "completed": True}, {"text": "b"}])
    assert (todo.kind, todo.text) == (CardKind.PLAN, "[x] a\n[ ] b")
    assert plan_text({"text": "as words"}) == "as words"


def test_changed_files_show_their_diffs_and_many_of_them_their_names() -> None:
    one = item("fileChange", changes=[{"path": "a", "diff": "+x"}])
    assert (one.title, one.text, one.data) == ("a", "+x", {"path": "a", "paths": ["a"]})
    many = item(
        "FileChange",
        changes={
            "new": {"type": "add", "content": "x\ny"},
            "gone": {"type": "delete", "content": "z"},
            "same": {"type": "update", "unified_diff": "@@"},
            "odd": "no change at all",
        },
    )
    assert many.title == "3 files"
    assert many.text == "new\n+x\n+y\ngone\n-z\nsame\n@@"
    assert item("fileChange").data == {"path": "", "paths": []}


def test_tool_of_a_server_shows_its_input_and_its_answer_or_error() -> None:
    result = {"content": [{"text": "one"}, {"text": "two"}]}
    fine = item("mcpToolCall", server="s", tool="t", arguments={"a": 1}, result=result)
    assert (fine.title, fine.text, fine.state) == ("s.t", "one\ntwo", CardState.DONE)
    assert fine.data == {"tool": "s.t", "input": '{"a":1}'}
    failed = item("mcp_tool_call", tool="t", error={"message": "no"})
    assert (failed.title, failed.text, failed.state) == ("t", "no", CardState.FAILED)


def test_thoughts_search_errors_and_kinds_to_come_are_shown() -> None:
    assert item("reasoning", summary=["a", 5, "b"]).text == "a\nb"
    assert item("reasoning", content=["c"]).kind is CardKind.THINKING
    assert item_card({"type": "reasoning", "id": "i", "summary": []}, done=True) is None
    assert item("webSearch", query="q").title == "Web search: q"
    assert item("error", message="m").state is CardState.FAILED
    to_come = item("enteredReviewMode", review="look")
    assert (to_come.kind, to_come.title, to_come.text) == (
        CardKind.TEXT,
        "enteredreviewmode",
        "look",
    )
    assert item_card({"type": "silence", "id": "i"}, done=True) is None


def test_turn_of_the_app_server_tells_how_it_ended_and_how_long_it_took() -> None:
    cards = CodexCards()
    turn = {"id": "t", "status": "failed", "durationMs": 7, "error": {"message": "no quota"}}
    failed, ended, end = cards.take(notice("turn/completed", turn=turn))
    assert isinstance(failed, Draft) and isinstance(ended, Draft)
    assert (failed.text, ended.state, ended.data) == (
        "no quota", CardState.FAILED, {"milliseconds": 7},
    )  # fmt: skip
    assert end == Yielded()


def test_plan_warnings_and_pieces_of_the_app_server_are_cards() -> None:
    cards = CodexCards()
    (plan,) = cards.take(notice("turn/plan/updated", turnId="t", plan=[{"step": "a"}]))
    assert isinstance(plan, Draft) and (plan.id, plan.text) == ("plan:t", "[ ] a")
    (warned,) = cards.take(notice("warning", message="slow"))
    assert isinstance(warned, Draft) and (warned.state, warned.text) == (CardState.DONE, "slow")
    (error,) = cards.take(notice("error", error={"message": "lost"}))
    assert isinstance(error, Draft) and (error.state, error.text) == (CardState.FAILED, "lost")
    (more,) = cards.take(notice("item/agentMessage/delta", itemId="i", delta="Hi"))
    assert isinstance(more, Draft) and (more.text, more.append) == ("Hi", True)
    assert cards.take(notice("thread/started")) == []
    assert cards.take(notice("item/completed", item={"type": "silence"})) == []
    assert cards.take({"id": 1, "result": {}}) == []


def test_what_the_app_server_asks_waits_until_it_is_answered_or_resolved() -> None:
    cards = CodexCards()
    asks = {"id": 1, **notice("item/fileChange/requestApproval", itemId="i")}
    card, end = cards.take(asks)
    assert isinstance(card, Draft) and (card.title, end) == (
        "Allow fileChange/requestApproval?", Yielded(),
    )  # fmt: skip
    assert [one.id for one in card.options or ()] == ["accept", "decline"]
    done, began = cards.take(notice("serverRequest/resolved", requestId=1))
    assert isinstance(done, Draft) and (done.state, began) == (CardState.DONE, Began())
    assert cards.take(notice("serverRequest/resolved", requestId=1)) == []


@pytest.mark.parametrize("method", ["requestApproval", "elicitation", "/requestApproval"])
def test_approval_without_a_name_still_asks(method: str) -> None:
    card, _ = CodexCards().take({"id": 1, "method": method})
    assert isinstance(card, Draft) and (card.title or "").startswith("Allow ")


def test_question_of_the_app_server_without_questions_still_waits() -> None:
    card, _ = CodexCards().take({"id": 1, "method": "item/tool/requestUserInput"})
    assert isinstance(card, Draft) and (card.title, card.options) == ("The agent asks", ())


def test_lines_of_exec_tell_turns_items_and_failures() -> None:
    cards = CodexExecCards()
    running, began = cards.take({"type": "turn.started"})
    assert isinstance(running, Draft) and (running.id, began) == ("turn:1", Began())
    failed, turn, end = cards.take({"type": "turn.failed", "error": {"message": "no"}})
    assert isinstance(failed, Draft) and isinstance(turn, Draft)
    assert (failed.text, turn.id, turn.state, end) == ("no", "turn:1", CardState.FAILED, Yielded())
    (error,) = cards.take({"type": "error", "message": "m"})
    assert isinstance(error, Draft) and error.state is CardState.FAILED
    assert cards.take({"type": "item.updated", "item": {"type": "silence"}}) == []
    assert cards.take({"type": "thread.started"}) == []


def test_events_of_a_rollout_tell_turns_and_what_went_wrong() -> None:
    turn, ended = rollout("task_complete", duration_ms=3)
    assert (turn.state, turn.data, ended) == (CardState.DONE, {"milliseconds": 3}, Yielded())
    assert rollout("turn_complete")[0].data == {}
    said, failed, _ = rollout("task_complete", error={"message": "no credit left"})
    assert (said.state, said.text, failed.state) == (
        CardState.FAILED,
        "no credit left",
        CardState.FAILED,
    )
    aborted, *rest = rollout("turn_aborted")
    assert (aborted.state, rest) == (CardState.DECLINED, [Yielded(), Interrupted()])
    assert rollout("stream_error", message="m")[0].state is CardState.FAILED
    assert rollout("warning", message="m")[0].state is CardState.DONE
    assert rollout("item_completed", item={"type": "silence"}) == []
    assert rollout("token_count") == []


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ('{"cmd":"ls"}', "ls"),
        ('{"command":["bash","-lc","ls"]}', "ls"),
        ('{"cmd":5}', ""),
        ('{"command":{"a":1}}', ""),
    ],
)
def test_command_a_rollout_begins_shows_at_once(arguments: str, command: str) -> None:
    (card,) = called("exec_command", arguments)
    assert (card.kind, card.state, card.data) == (
        CardKind.BASH,
        CardState.RUNNING,
        {"command": command},
    )


@pytest.mark.parametrize("arguments", ["", "{", "[]", "5", "[" * 5000 + "]" * 5000])
def test_call_whose_arguments_are_none_shows_nothing(arguments: str) -> None:
    assert called("shell", arguments) == []


def test_call_of_another_tool_or_without_an_id_shows_nothing() -> None:
    assert called("view_image", "{}") == []
    assert called("shell", '{"cmd":"ls"}', "") == []
    assert CodexRolloutCards().take({"type": "session_meta"}) == []
