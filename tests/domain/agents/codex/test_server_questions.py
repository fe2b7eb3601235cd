"""The questions of a Codex at its terminal, read by a second client of its server."""

import shlex
from typing import Any

import pytest

from atoll.domain.agents.card import CardKind
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.codex.server_questions import (
    MAX_WAITING,
    CodexServerQuestions,
    ServerStep,
    share_argv,
)
from atoll.domain.agents.terminal_question import TerminalQuestion, answer_part

COMMAND = "item/commandExecution/requestApproval"
# As Codex 0.171.0 sends it.
ASKED: dict[str, Any] = {
    "kind": "command",
    "threadId": "t1",
    "itemId": "call_1",
    "reason": "May I?",
    "command": "/bin/bash -lc 'echo ok > app.txt'",
    "availableDecisions": [
        "accept",
        {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch"]}},
        "cancel",
    ],
}
QUESTIONS: dict[str, Any] = {
    "threadId": "t1",
    "questions": [
        {"id": "db", "question": "Which?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]},
        {"id": "why", "question": "Why?", "options": None},
    ],
}


def asked(server: CodexServerQuestions, method: str, params: Any, number: Any = 0) -> ServerStep:
    return server.take({"id": number, "method": method, "params": params})


def question_of(step: ServerStep) -> TerminalQuestion:
    assert step.asks is not None
    return step.asks


def answered(question: TerminalQuestion, option: str | None, words: str | None = None) -> Any:
    card = CardLog().put(question.draft(), "2026-12-01T10:00:00.000Z")
    assert card is not None
    return answer_part(question, card, option, words)


def test_client_greets_and_joins_every_conversation_once() -> None:
    server = CodexServerQuestions()
    (hello,) = server.begin()
    assert hello["method"] == "initialize" and server.look() == ()
    greeting: Any = {"id": hello["id"], "result": {"userAgent": "codex"}}
    ready = server.take(greeting).send
    assert [one["method"] for one in ready] == ["initialized", "thread/loaded/list"]
    listed: Any = {"id": ready[1]["id"], "result": {"data": ["t1", "t2", 7]}}
    joined = server.take(listed).send
    assert [(one["method"], one["params"]) for one in joined] == [
        ("thread/resume", {"threadId": name, "excludeTurns": True}) for name in ("t1", "t2")
    ]
    assert server.take(listed).send == ()
    others: list[Any] = [{"id": "another", "result": {}}, {"method": "turn/started", "params": {}}]
    assert [server.take(other) for other in others] == [ServerStep()] * 2


def test_approval_is_spelled_out_and_answered_by_the_server_s_own_number() -> None:
    server = CodexServerQuestions()
    question = question_of(asked(server, COMMAND, ASKED))
    draft = question.draft()
    assert (draft.kind, draft.title, draft.text) == (
        CardKind.APPROVAL,
        "May I?",
        "echo ok > app.txt",
    )
    assert [(one.id, one.effect) for one in draft.options or ()] == [
        ("accept", "allow"),
        ("cancel", "deny"),
    ]
    assert server.reply(answered(question, "accept")) == {
        "id": 0,
        "result": {"decision": "accept"},
    }
    resolved: Any = {
        "method": "serverRequest/resolved",
        "params": {"threadId": "t1", "requestId": 0},
    }
    assert server.take(resolved).settles == question.id
    assert server.reply(answered(question, "accept")) is None
    assert server.take(resolved) == ServerStep()


def test_questions_are_answered_one_by_one_by_label_and_in_words() -> None:
    server = CodexServerQuestions()
    question = question_of(asked(server, "item/tool/requestUserInput", QUESTIONS))
    whole = answered(answered(question, "2"), None, "Because")
    assert server.reply(whole) == {
        "id": 0,
        "result": {"answers": {"db": {"answers": ["Postgres"]}, "why": {"answers": ["Because"]}}},
    }


def test_change_of_files_shows_what_changes_or_is_left_to_the_terminal() -> None:
    server = CodexServerQuestions()
    request: Any = {"threadId": "t1", "itemId": "call_2", "reason": None}
    assert asked(server, "item/fileChange/requestApproval", request).asks is None
    change: Any = {"path": "/w/a.txt", "kind": {"type": "add"}, "diff": "+hello"}
    item: Any = {"type": "fileChange", "id": "call_2", "status": "inProgress", "changes": [change]}
    another: Any = {"type": "userMessage", "id": "call_2"}
    for began in (another, item):
        server.take({"method": "item/started", "params": {"item": began}})
    question = question_of(asked(server, "item/fileChange/requestApproval", request, 1))
    assert "/w/a.txt" in (question.draft().text or "") and "+hello" in (question.draft().text or "")


def test_end_of_a_turn_settles_all_and_no_more_than_a_few_wait() -> None:
    server = CodexServerQuestions()
    steps = [asked(server, COMMAND, ASKED, number) for number in range(MAX_WAITING + 1)]
    assert [step.asks is None for step in steps] == [False] * MAX_WAITING + [True]
    assert server.take({"method": "turn/completed", "params": {}}).all_settled
    assert server.reply(answered(question_of(steps[0]), "accept")) is None


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("item/tool/call", {}),
        ("mcpServer/elicitation/request", {"message": "Which?"}),
        (COMMAND, {"command": 7}),
        ("item/tool/requestUserInput", {"questions": "none"}),
        (
            "item/tool/requestUserInput",
            {"questions": [{"id": "k", "question": "Key?", "isSecret": True}]},
        ),
    ],
)
def test_request_that_cannot_be_read_or_is_a_secret_is_left_to_the_terminal(
    method: str, params: Any
) -> None:
    assert asked(CodexServerQuestions(), method, params) == ServerStep()


def test_argv_starts_a_server_with_the_settings_of_the_command_line_and_the_tui_as_its_client() -> (
    None
):
    trusts = "--dangerously-bypass-hook-trust"
    argv = ("codex", "resume", "--last", "--no-daemon", trusts, "-c", "a={b='c'}", "--", "-c", "x")
    shell, flag, script, program, *rest = share_argv(argv)
    assert (shell, flag, program) == ("sh", "-c", "codex")
    assert rest == [trusts, "resume", "--last", "-c", "a={b='c'}", "--", "-c", "x"]
    assert shlex.join(["-c", "a={b='c'}"]) in script and "x" not in shlex.split(script)
