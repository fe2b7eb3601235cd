"""The task of a sandbox, and the branch that its words propose."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.repository.branch import (
    MAX_BRANCH_BYTES,
    branch_for_agent,
    branch_of_task,
    free_branch,
    proposed_branch,
    read_branch,
)
from atoll.domain.sandboxes.task import (
    Task,
    TaskRequest,
    enqueue_task,
    mark_failed,
    mark_given,
    read_task,
    reset_task,
)
from atoll.wire.words.sandboxes import MAX_TASK_PROMPT, AgentMode, TaskState


@pytest.mark.parametrize(
    ("sentence", "branch"),
    [
        ("Please fix the login page!", "fix-login-page"),
        ("fix #12: can't save\nand more below", "fix-12-cant-save"),
        ("Räume die Fußnoten auf", "raume-die-funoten-auf"),
        ("can you", "can-you"),
        ("../../etc/passwd --force ~^:", "etc-passwd-force"),
        ("\x1b[2J evil", "2j-evil"),
        ("x" * 100, "x" * 40),
        (
            "rewrite documentation considerably improving readability",
            "rewrite-documentation-considerably",
        ),
        ("你好", None),
        ("   ", None),
    ],
)
def test_branch_is_proposed_from_the_telling_words(sentence: str, branch: str | None) -> None:
    assert proposed_branch(sentence) == branch
    if branch is not None:
        assert read_branch(branch) == branch


@pytest.mark.parametrize(
    ("sentence", "branch"),
    [
        ("Fix the login", "fix-login"),
        ("Почини вход в систему", "pochini-vkhod-v-sistemu"),
        ("Подъезд", "podezd"),
        ("Διόρθωσε τη σύνδεση", "diorthose-ti-syndesi"),
        ("로그인 고치기", "rogeuin-gocigi"),
        ("ログイン", "roguin"),
        ("修复登录", "task-7344bd"),
        ("!!!", "task-e84c53"),
    ],
)
def test_words_of_every_script_name_a_branch(sentence: str, branch: str) -> None:
    assert branch_of_task(sentence) == branch_of_task(f" {sentence}\n") == branch
    assert read_branch(branch) == branch


def test_branch_of_an_agent_ends_with_its_name_and_stays_allowed() -> None:
    assert branch_for_agent("fix", "codex@1.2") == "fix-codex"
    long = branch_for_agent("é" * 100, "claude-code")
    assert len(read_branch(long).encode()) <= MAX_BRANCH_BYTES
    assert long.endswith("-claude-code")


def test_branch_that_is_taken_gets_the_first_free_number() -> None:
    assert free_branch("fix", ()) == "fix"
    assert free_branch("fix", ("fix", "fix-2")) == "fix-3"
    longest = "x" * MAX_BRANCH_BYTES
    assert free_branch(longest, (longest,)) == "x" * (MAX_BRANCH_BYTES - 2) + "-2"


def test_task_is_what_was_requested() -> None:
    assert read_task(None, "codex", instructions="") is None
    assert read_task(TaskRequest("Go."), "codex", instructions="") == Task("Go.")


@pytest.mark.parametrize(
    ("prompt", "agent", "instructions", "words"),
    [
        ("Go.", None, "", "needs an agent"),
        (" \n", "codex", "", "bytes of text"),
        ("a\0b", "codex", "", "without NUL"),
        ("é" * (MAX_TASK_PROMPT // 2 + 1), "codex", "", "1 to 65536 bytes"),
        ("x" * MAX_TASK_PROMPT, "codex", "y" * MAX_TASK_PROMPT, "together longer"),
    ],
)
def test_task_that_no_agent_can_receive_is_refused(
    prompt: str, agent: str | None, instructions: str, words: str
) -> None:
    with pytest.raises(Invalid, match=words) as err:
        read_task(TaskRequest(prompt), agent, instructions=instructions)
    assert err.value.field == "prompt"


def test_task_at_a_terminal_asks_by_its_agents_own_settings() -> None:
    with pytest.raises(Invalid) as refused:
        read_task(TaskRequest("Go.", asks=True), "codex", instructions="")
    assert refused.value.field == "task.permissions"
    at_terminal = read_task(TaskRequest("Go.", asks=True), "gemini", instructions="")
    assert at_terminal is not None and at_terminal.asks
    # An agent that has no terminal is a machine, where nothing else is asked for.
    with pytest.raises(Invalid) as other:
        read_task(TaskRequest("Go.", AgentMode.TUI), "acp:kimi", instructions="")
    assert other.value.field == "task.mode"
    task = read_task(TaskRequest("Go.", asks=True), "acp:kimi", instructions="")
    assert task is not None and (task.mode, task.asks) == (AgentMode.MACHINE, True)


def test_task_follows_its_agent() -> None:
    task = Task("Go.")
    assert mark_given(task).state is TaskState.GIVEN
    lost = mark_failed(task, "no key")
    assert (lost.state, lost.reason) == (TaskState.FAILED, "no key")
    assert reset_task(lost) == task
    assert enqueue_task(task, 2).state is TaskState.QUEUED
