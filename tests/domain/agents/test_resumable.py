from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.agents.resumable import (
    MAX_RUNNING_AGENTS,
    ResumeFallback,
    RunningAgent,
    is_conversation,
    with_agent,
    with_conversation,
    without_agent,
)
from atoll.domain.ids import SnapshotId
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.sandbox import Attachment
from atoll.domain.sandboxes.stimulus import (
    AgentConversed,
    AgentEnded,
    AgentStarted,
    Reached,
    Recreate,
    RuntimeBegan,
    Start,
    Stop,
)
from tests.domain.sandboxes.test_lifecycle import READY, after

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CODEX = RunningAgent("t_1", "codex", "tui", otherwise=ResumeFallback.AFRESH)
CLAUDE = RunningAgent("t_2", "claude-code", "tui", conversation="c-1")
BUSY = after(READY, AgentStarted(CODEX), AgentStarted(CLAUDE))


@pytest.mark.parametrize("word", ["a", "019a-b_C", "ses_4d1", "x" * 80])
def test_conversation_is_named_by_letters_digits_and_dashes(word: str) -> None:
    assert is_conversation(word)


@pytest.mark.parametrize("word", ["", "-c", "--resume", "../x", "a b", "a\n", "a'b", "x" * 81])
def test_word_that_could_be_anything_else_names_no_conversation(word: str) -> None:
    assert not is_conversation(word)
    assert with_conversation((CODEX,), "t_1", word) == (CODEX,)


def test_agents_are_added_once_removed_and_bounded() -> None:
    assert with_agent((CODEX, CLAUDE), CODEX) == (CLAUDE, CODEX)
    assert without_agent((CODEX, CLAUDE), "t_1") == (CLAUDE,)
    assert with_conversation((CODEX, CLAUDE), "t_1", "c-2")[0].conversation == "c-2"
    agents: tuple[RunningAgent, ...] = ()
    for number in range(MAX_RUNNING_AGENTS + 5):
        agents = with_agent(agents, RunningAgent(f"t_{number}", "codex", "tui"))
    assert (len(agents), agents[0].id) == (MAX_RUNNING_AGENTS, "t_5")


def test_agents_of_a_sandbox_are_those_its_runtime_told_of_last() -> None:
    assert BUSY.agents == (CODEX, CLAUDE)
    told = after(BUSY, AgentConversed("t_1", "c-9"), AgentEnded("t_2"))
    assert [(one.id, one.conversation) for one in told.agents] == [("t_1", "c-9")]
    assert step(BUSY, AgentEnded("t_9"), NOW) == (BUSY, ())
    assert after(BUSY, RuntimeBegan()).agents == ()


def test_start_owes_agents_their_conversations_until_it_is_reached() -> None:
    begun = after(BUSY, Stop(), Start())
    assert (begun.agents, begun.resuming) == ((CODEX, CLAUDE), True)
    reached = after(begun, Reached(1, Attachment()))
    assert (reached.agents, reached.resuming) == ((), False)


@pytest.mark.parametrize(
    ("profile", "asked", "resuming"),
    [(True, None, True), (True, False, False), (False, None, False), (False, True, True)],
)
def test_start_resumes_agents_as_asked_else_as_the_profile_says(
    profile: bool, asked: bool | None, resuming: bool
) -> None:
    recipe = Profile("profile.x", "1.0.0", resume_agents=profile)
    stopped = replace(after(BUSY, Stop()), profile=recipe)
    assert after(stopped, Start(asked)).resuming is resuming


def test_recreate_forgets_agents_whose_conversations_go_with_the_workspace() -> None:
    fresh = after(BUSY, Stop(), Recreate())
    assert (fresh.agents, fresh.resuming) == ((), False)


def test_restored_sandbox_is_as_it_was_and_its_agents_go_on() -> None:
    source = replace(BUSY, instructed=True)
    restored = after(replace(BUSY, agents=()), Stop(), Recreate(SnapshotId("snap_1"), source))
    assert (restored.seed, restored.agents, restored.resuming) == ("snap_1", BUSY.agents, True)
    assert restored.instructed and restored.repos == source.repos
