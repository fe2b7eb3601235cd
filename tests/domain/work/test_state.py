"""The state of work: one word for each set of facts, and what facts a sandbox gives."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
from msgspec import structs

from atoll.domain.repository.project import ProjectFile
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.task import Task
from atoll.domain.work.record import Merge, PullRecord, WorkRecord, mark_of
from atoll.domain.work.state import AgentsFact, TaskFact, WorkFacts, state_of, work_of
from atoll.testing.samples import NOW, sandbox
from atoll.wire.contract.agents import StatusKind, StatusRecord
from atoll.wire.contract.trees import TreeReport
from atoll.wire.words.forges import PullState
from atoll.wire.words.library import ConflictKind, MergeWay
from atoll.wire.words.sandboxes import SetupState, State, TaskState, WorkState
from atoll.wire.words.walls import WORKSPACE

HERE = sandbox("one")
TASKED = replace(HERE, task=Task("Mend the login", state=TaskState.GIVEN))
AT = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-02T00:00:00.000Z"
CHANGED = TreeReport(WORKSPACE, "fix", "a" * 40, commits=1, plus=3, minus=2, mark="m1")
SETTLED = (None, WorkState.REVIEWED, WorkState.MERGED, WorkState.PR_OPEN, WorkState.PR_MERGED)


def agent(status: StatusKind, *, turns: int = 0, reason: str = "") -> ReportedAgent:
    return ReportedAgent(
        "t_1", "codex", "tui", StatusRecord(status, AT, turns=turns, reason=reason)
    )


def every_fact() -> Sequence[WorkFacts]:
    flags = (False, True)
    return [
        WorkFacts(*facts)
        for facts in product(TaskFact, AgentsFact, flags, flags, flags, SETTLED, flags)
    ]


def expected(facts: WorkFacts) -> WorkState | None:
    """The rules as a table: the first row that fits decides."""
    there = facts.task is TaskFact.GIVEN or facts.agents is not AgentsFact.NONE
    given, agents = facts.task is TaskFact.GIVEN, facts.agents
    rows = [
        (facts.archived, WorkState.ARCHIVED),
        (facts.task is TaskFact.QUEUED, WorkState.QUEUED),
        (facts.task is TaskFact.HELD, WorkState.NEEDS_YOU),
        (agents is AgentsFact.CALLS, WorkState.NEEDS_YOU),
        (facts.asked and there, WorkState.NEEDS_YOU),
        (agents is AgentsFact.WORKING, WorkState.WORKING),
        (facts.conflict, WorkState.IN_CONFLICT),
        (facts.settled is not None, facts.settled),
        (agents is AgentsFact.FAILED, WorkState.NEEDS_YOU),
        (agents is AgentsFact.ENDED, WorkState.TO_REVIEW),
        (agents is AgentsFact.SILENT and given, WorkState.WORKING),
        (there and facts.changed, WorkState.TO_REVIEW),
        (given, WorkState.NEEDS_YOU),
    ]
    return next((state for fits, state in rows if fits), None)


def test_every_set_of_facts_has_the_state_of_the_first_rule_that_fits() -> None:
    assert {facts: state_of(facts) for facts in every_fact()} == {
        facts: expected(facts) for facts in every_fact()
    }


def test_every_state_is_reached() -> None:
    assert {state_of(facts) for facts in every_fact()} == {None, *WorkState}


def state(
    here: Sandbox = TASKED,
    *agents: ReportedAgent,
    trees: tuple[TreeReport, ...] = (CHANGED,),
    **record: object,
) -> WorkState | None:
    return work_of(here, agents, WorkRecord(trees, **record)).state  # type: ignore[arg-type]


def test_plain_shell_has_no_work() -> None:
    assert state(HERE, trees=()) is None
    assert state(HERE, asked=("ap_1",)) is None
    assert state(HERE, agent("idle"), trees=()) is None


@pytest.mark.parametrize(
    ("there", "task", "setup", "word"),
    [
        (State.REQUESTED, TaskState.QUEUED, SetupState.NONE, WorkState.QUEUED),
        (State.PROVISIONING, TaskState.WAITING, SetupState.NONE, WorkState.QUEUED),
        (State.READY, TaskState.WAITING, SetupState.RUNNING, WorkState.QUEUED),
        (State.READY, TaskState.WAITING, SetupState.FAILED, WorkState.NEEDS_YOU),
        (State.FAILED, TaskState.WAITING, SetupState.NONE, WorkState.NEEDS_YOU),
        (State.STOPPED, TaskState.WAITING, SetupState.NONE, WorkState.NEEDS_YOU),
        (State.READY, TaskState.FAILED, SetupState.NONE, WorkState.NEEDS_YOU),
        (State.DESTROYED, TaskState.GIVEN, SetupState.NONE, None),
    ],
)
def test_task_that_has_not_begun_is_queued_or_needs_its_person(
    there: State, task: TaskState, setup: SetupState, word: WorkState | None
) -> None:
    project = SandboxProject("r", "d", ProjectFile(""), state=setup)
    here = replace(HERE, state=there, task=Task("x", state=task), project=project)
    assert state(here, trees=()) is word


@pytest.mark.parametrize(
    ("reported", "word"),
    [
        (agent("working"), WorkState.WORKING),
        (agent("needs_you"), WorkState.NEEDS_YOU),
        (agent("failed"), WorkState.NEEDS_YOU),
        (agent("done", turns=1), WorkState.TO_REVIEW),
        (agent("idle"), WorkState.WORKING),
        (agent("idle", reason="Its terminal is quiet."), WorkState.NEEDS_YOU),
        (agent("stopped"), WorkState.NEEDS_YOU),
        (agent("stopped", turns=2), WorkState.TO_REVIEW),
    ],
)
def test_agent_decides_while_nothing_changed(reported: ReportedAgent, word: WorkState) -> None:
    assert state(TASKED, reported, trees=()) is word


def test_approval_that_waits_needs_its_person_only_where_the_sandbox_runs() -> None:
    assert state(TASKED, agent("working"), asked=("ap_1",)) is WorkState.NEEDS_YOU
    stopped = replace(TASKED, state=State.STOPPED)
    assert state(stopped, agent("stopped", turns=1), asked=("ap_1",)) is WorkState.TO_REVIEW


def test_conflict_is_the_state_until_an_agent_works_on_it() -> None:
    stuck = replace_tree(conflict=ConflictKind.REBASE, onto="main", files=("a",))
    assert state(TASKED, agent("done", turns=1), trees=(stuck,)) is WorkState.IN_CONFLICT
    assert state(TASKED, agent("working"), trees=(stuck,)) is WorkState.WORKING
    assert state(HERE, trees=(stuck,)) is WorkState.IN_CONFLICT
    conflict = work_of(HERE, (), WorkRecord((stuck,))).conflict
    assert conflict is not None and (conflict.repo, conflict.tree) == (0, stuck)


def test_conflict_of_a_repository_that_is_not_the_sandboxs_does_not_count() -> None:
    vendored = TreeReport(f"{WORKSPACE}/vendor", conflict=ConflictKind.MERGE)
    assert state(TASKED, agent("done", turns=1), trees=(vendored,)) is WorkState.TO_REVIEW


def test_review_lasts_until_the_change_is_another() -> None:
    mark = mark_of(WorkRecord((CHANGED,)))
    done = agent("done", turns=1)
    assert state(TASKED, done, reviewed=mark) is WorkState.REVIEWED
    assert state(TASKED, done, trees=(replace_tree(mark="m2"),), reviewed=mark) is (
        WorkState.TO_REVIEW
    )


def test_review_holds_for_the_same_change_on_newer_commits() -> None:
    mark = mark_of(WorkRecord((CHANGED,)))
    rebased = replace_tree(head="b" * 40, uncommitted=0)
    assert state(TASKED, agent("done", turns=1), trees=(rebased,), reviewed=mark) is (
        WorkState.REVIEWED
    )


def merge(mark: str = "m1", at: str = AT, repo: int = 0) -> Merge:
    return Merge(repo, "main", MergeWay.SQUASH, "c" * 40, mark, at)


def pull(there: PullState, mark: str = "m1", at: str = AT) -> PullRecord:
    return PullRecord(0, 7, "fix", "main", "c" * 40, there, ((WORKSPACE, mark),), at)


@pytest.mark.parametrize(
    ("merges", "pulls", "word"),
    [
        ((merge(),), (), WorkState.MERGED),
        ((merge("m0"),), (), WorkState.TO_REVIEW),
        ((), (pull(PullState.OPEN),), WorkState.PR_OPEN),
        ((), (pull(PullState.MERGED),), WorkState.PR_MERGED),
        ((), (pull(PullState.CLOSED),), WorkState.TO_REVIEW),
        ((), (pull(PullState.OPEN, "m0"),), WorkState.TO_REVIEW),
        ((merge(),), (pull(PullState.OPEN),), WorkState.MERGED),
    ],
)
def test_change_that_left_says_how(
    merges: tuple[Merge, ...], pulls: tuple[PullRecord, ...], word: WorkState
) -> None:
    assert state(TASKED, agent("done", turns=1), merges=merges, pulls=pulls) is word


def test_work_of_which_no_change_is_left_keeps_its_newest_end() -> None:
    clean = replace_tree(mark="", commits=0, plus=0, minus=0)
    done = agent("done", turns=1)
    assert state(TASKED, done, trees=(clean,), merges=(merge(),)) is WorkState.MERGED
    later = pull(PullState.MERGED, at=LATER)
    assert state(TASKED, done, trees=(clean,), merges=(merge(),), pulls=(later,)) is (
        WorkState.PR_MERGED
    )
    assert state(TASKED, done, trees=(clean,)) is WorkState.TO_REVIEW


def test_work_in_several_repositories_is_as_far_as_the_last_of_them() -> None:
    other = replace(HERE.repos[0], path=f"{WORKSPACE}/two")
    here = replace(TASKED, repos=(*HERE.repos, other))
    two = replace_tree(path=other.path, mark="n1")
    done = agent("done", turns=1)
    assert state(here, done, trees=(CHANGED, two), merges=(merge(),)) is WorkState.TO_REVIEW
    both = (merge(), merge("n1", repo=1))
    assert state(here, done, trees=(CHANGED, two), merges=both) is WorkState.MERGED


def test_archived_work_is_nothing_else() -> None:
    put_away = replace(TASKED, archived_at=NOW)
    assert state(put_away, agent("needs_you")) is WorkState.ARCHIVED


def test_counts_are_those_of_all_trees() -> None:
    work = work_of(
        TASKED, (), WorkRecord((CHANGED, replace_tree(path="/workspace/x", uncommitted=4)))
    )
    assert (work.commits, work.plus, work.minus, work.uncommitted) == (2, 6, 4, 4)


def replace_tree(**changes: object) -> TreeReport:
    return structs.replace(CHANGED, **changes)
