"""Questions at a terminal that are answered from elsewhere: their parts, and Claude's hooks."""

import json
from pathlib import Path
from typing import Any

import pytest

from atoll.domain.agents.card import CardKind
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.claude_code.held import ClaudeHeld
from atoll.domain.agents.held_hooks import HoldPhase, HoldSign, read_sign
from atoll.domain.agents.terminal_question import PartAnswer, TerminalQuestion, answer_part
from atoll.domain.errors import Invalid

RECORDED = Path("tests/fixtures/questions/hooks.jsonl")
AT = "2026-12-01T10:00:00.000Z"


def recorded(agent: str, event: str) -> list[dict[str, Any]]:
    """What hooks of a real agent were given."""
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    found = [one for one in lines if one["agent"].startswith(agent) and one["event"] == event]
    return [one["stdin"] for one in found if "stdin" in one]


def answered(question: TerminalQuestion, *answers: PartAnswer) -> TerminalQuestion:
    """The question, with an answer to one part after the other, each by its card."""
    for answer in answers:
        card = CardLog().put(question.draft(), AT)
        assert card is not None
        question = answer_part(question, card, answer.option, answer.words)
    return question


def asked() -> tuple[dict[str, Any], TerminalQuestion]:
    message = recorded("claude", "PermissionRequest")[0]
    question = ClaudeHeld().read("held:1", message)
    assert question is not None
    return message, question


def test_question_of_claude_has_its_options_and_is_answered_by_label_and_in_words() -> None:
    message, question = asked()
    draft = question.draft()
    assert draft.kind is CardKind.QUESTION and draft.data == {"answerable": True}
    assert [(one.id, one.label) for one in draft.options or ()] == [
        ("1", "SQLite"),
        ("2", "Postgres"),
    ]
    assert "Postgres: A server of its own" in (draft.text or "")
    for answer, told in ((PartAnswer("2"), "Postgres"), (PartAnswer(words="DuckDB"), "DuckDB")):
        reply: Any = ClaudeHeld().reply(message, answered(question, answer))
        decision = reply["hookSpecificOutput"]["decision"]
        assert decision["behavior"] == "allow"
        assert decision["updatedInput"]["answers"] == {"Which database should the notes use?": told}
        assert decision["updatedInput"]["questions"] == message["tool_input"]["questions"]


def test_several_questions_are_asked_one_after_the_other_and_answered_at_once() -> None:
    given: Any = {
        "questions": [
            {"question": "Which?", "options": [{"label": "A"}]},
            {"question": "Why?", "options": [], "multiSelect": True},
        ]
    }
    message: Any = {
        "hook_event_name": "PermissionRequest",
        "tool_name": "AskUserQuestion",
        "tool_input": given,
    }
    question = ClaudeHeld().read("held:1", message)
    assert question is not None
    assert (question.draft().title, question.draft().text) == ("The agent asks (1 of 2)", "Which?")
    half = answered(question, PartAnswer("1"))
    assert not half.is_answered and half.draft().title == "The agent asks (2 of 2)"
    reply: Any = ClaudeHeld().reply(message, answered(half, PartAnswer(words="Because")))
    answers = reply["hookSpecificOutput"]["decision"]["updatedInput"]["answers"]
    assert answers == {"Which?": "A", "Why?": "Because"}


@pytest.mark.parametrize(("option", "behavior"), [("allow", "allow"), ("deny", "deny")])
def test_permission_of_claude_spells_out_the_command_and_is_decided(
    option: str, behavior: str
) -> None:
    message = recorded("claude", "PermissionRequest")[1]
    question = ClaudeHeld().read("held:1", message)
    assert question is not None and question.kind is CardKind.APPROVAL
    assert question.draft().text == message["tool_input"]["command"]
    reply: Any = ClaudeHeld().reply(message, answered(question, PartAnswer(option)))
    assert reply["hookSpecificOutput"]["decision"]["behavior"] == behavior


def test_permission_takes_no_words_and_a_question_no_option_that_it_does_not_offer() -> None:
    permission = ClaudeHeld().read("held:1", recorded("claude", "PermissionRequest")[1])
    assert permission is not None
    with pytest.raises(Invalid):
        answered(permission, PartAnswer(words="yes, and more"))
    with pytest.raises(Invalid):
        answered(asked()[1], PartAnswer("7"))


@pytest.mark.parametrize(
    ("tool", "given", "shown"),
    [
        ("Write", {"file_path": "/w/a", "content": "x"}, "/w/a\n+x"),
        ("Read", {"file_path": "/etc/passwd"}, "/etc/passwd"),
        ("ExitPlanMode", {"plan": "Do it"}, "Do it"),
        ("mcp__board__post", {"text": "hi"}, '{"text":"hi"}'),
        ("Bash", {}, "{}"),
        (
            "Bash",
            {"command": "ls", "description": "List", "dangerouslyDisableSandbox": True},
            "ls\ndangerouslyDisableSandbox: true",
        ),
        (
            "NotebookEdit",
            {"notebook_path": "/w/n", "new_source": "x", "edit_mode": "delete"},
            '/w/n\n+x\nedit_mode: "delete"',
        ),
    ],
)
def test_permission_spells_out_what_it_allows(tool: str, given: Any, shown: str) -> None:
    message = {
        "hook_event_name": "PermissionRequest",
        "tool_name": tool,
        "tool_input": given,
    }
    question = ClaudeHeld().read("held:1", message)
    assert question is not None and question.draft().text == shown


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"hook_event_name": "Stop", "tool_name": "Bash"},
        {"hook_event_name": "PermissionRequest", "tool_name": "AskUserQuestion"},
        {
            "hook_event_name": "PermissionRequest",
            "tool_name": "AskUserQuestion",
            "tool_input": {"questions": [{"question": "a"}, {"header": "no words"}]},
        },
    ],
)
def test_message_that_asks_nothing_readable_is_no_question(message: Any) -> None:
    assert ClaudeHeld().read("held:1", message) is None


def test_end_of_the_same_tool_use_settles_a_question_and_that_of_another_does_not() -> None:
    question, command = recorded("claude", "PermissionRequest")[:2]
    ends = [json.dumps(one) for one in recorded("claude", "PostToolUse")]
    reader = ClaudeHeld()
    assert [reader.settles(question, line) for line in ends] == [True, False]
    assert [reader.settles(command, line) for line in ends] == [False, True]
    assert not reader.settles(command, '{"hook_event_name":"Stop"}')
    # Claude may write an input in another order, and a line is cut off.
    long: Any = {
        "tool_name": "Bash",
        "tool_input": {"description": "d" * 900, "command": "c" * 900},
    }
    line = json.dumps({"hook_event_name": "PostToolUse", **long})[:1500]
    assert reader.settles({**long, "tool_input": dict(reversed(long["tool_input"].items()))}, line)


def test_signs_of_hooks_that_wait_are_read_strictly() -> None:
    assert read_sign("held AbCd123456") == HoldSign(HoldPhase.HELD, "AbCd123456")
    assert read_sign("gone AbCd123456") == HoldSign(HoldPhase.GONE, "AbCd123456")
    for line in (
        "held ../../etc",
        "held a",
        "hold AbCd123456",
        "held AbCd123456 x",
        "held Ab/123456",
    ):
        assert read_sign(line) is None
