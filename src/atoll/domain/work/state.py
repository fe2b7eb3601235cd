"""The state of a sandbox's work: one word for all that is known of it.

Pure. `state_of` decides it from facts, `work_of` gathers these from the sandbox, what its agents
reported and the record of its work. Every view shows what `work_of` returns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain

from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.sandbox import GONE, RUNNING, Sandbox
from atoll.domain.work.record import Merge, PullRecord, WorkRecord, mark_of
from atoll.wire.contract.trees import TreeReport
from atoll.wire.words.forges import PullState
from atoll.wire.words.sandboxes import SetupState, State, TaskState, WorkState
from atoll.wire.words.walls import WORKSPACE


class TaskFact(Enum):
    """The fact about a sandbox's task. `HELD`: it could not begin, and a person decides."""

    NONE = auto()
    QUEUED = auto()
    HELD = auto()
    GIVEN = auto()


class AgentsFact(Enum):
    """The fact about a sandbox's agents, of the one that concerns its person most.

    `ENDED`: a turn of it ended. `IDLE`: it waits, or stopped, and none did. `SILENT`: it runs and
    has reported nothing yet.
    """

    NONE = auto()
    SILENT = auto()
    IDLE = auto()
    ENDED = auto()
    FAILED = auto()
    WORKING = auto()
    CALLS = auto()


@dataclass(frozen=True, slots=True)
class WorkFacts:
    """The facts that decide the state. `asked`: an approval waits for a decision. `settled` is what
    the present change came to: reviewed, merged, or in a pull request; None while it did not."""

    task: TaskFact = TaskFact.NONE
    agents: AgentsFact = AgentsFact.NONE
    asked: bool = False
    conflict: bool = False
    changed: bool = False
    settled: WorkState | None = None
    archived: bool = False


@dataclass(frozen=True, slots=True)
class TreeConflict:
    """A rebase or merge of repository number `repo` that stopped."""

    repo: int
    tree: TreeReport


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """The work of a sandbox. `mark` names the change, `conflict`, `merge` and `pull` are the first
    conflict, the newest merge and the newest pull request. The state is None for a sandbox in which
    there is no work."""

    state: WorkState | None
    mark: str
    trees: tuple[TreeReport, ...] = ()
    conflict: TreeConflict | None = None
    merge: Merge | None = None
    pull: PullRecord | None = None
    reviewed_at: str | None = None
    conflict_at: str | None = None

    @property
    def commits(self) -> int:
        """Return the commits of all trees since their branches began."""
        return sum(tree.commits for tree in self.trees)

    @property
    def plus(self) -> int:
        """Return the lines that were added."""
        return sum(tree.plus for tree in self.trees)

    @property
    def minus(self) -> int:
        """Return the lines that were removed."""
        return sum(tree.minus for tree in self.trees)

    @property
    def uncommitted(self) -> int:
        """Return the number of files that are not committed."""
        return sum(tree.uncommitted for tree in self.trees)


def state_of(facts: WorkFacts) -> WorkState | None:
    """Return the state of work, None where there is none."""
    if facts.archived:
        return WorkState.ARCHIVED
    if facts.task is TaskFact.QUEUED:
        return WorkState.QUEUED
    if facts.task is TaskFact.HELD:
        return WorkState.NEEDS_YOU
    there = facts.task is TaskFact.GIVEN or facts.agents is not AgentsFact.NONE
    if facts.agents is AgentsFact.CALLS or (facts.asked and there):
        return WorkState.NEEDS_YOU
    if facts.agents is AgentsFact.WORKING:
        return WorkState.WORKING
    if facts.conflict:
        return WorkState.IN_CONFLICT
    return facts.settled or _open_state(facts)


def _open_state(facts: WorkFacts) -> WorkState | None:
    """Return the state of work that nobody reviewed or merged."""
    given = facts.task is TaskFact.GIVEN
    match facts.agents:
        case AgentsFact.FAILED:
            return WorkState.NEEDS_YOU
        case AgentsFact.ENDED:
            return WorkState.TO_REVIEW
        case AgentsFact.SILENT if given:
            return WorkState.WORKING
        case _:  # no agent is at work or asks
            if facts.changed and (given or facts.agents is not AgentsFact.NONE):
                return WorkState.TO_REVIEW
            return WorkState.NEEDS_YOU if given else None


def work_of(sandbox: Sandbox, agents: Sequence[ReportedAgent], record: WorkRecord) -> WorkSummary:
    """Return the work of a sandbox, whose `agents` are as `present_agents` returns them."""
    conflict = _conflict(sandbox, record)
    return WorkSummary(
        _state(sandbox, agents, record, conflict=conflict),
        mark_of(record),
        record.trees,
        conflict,
        max(record.merges, key=lambda merge: merge.at, default=None),
        max(record.pulls, key=lambda pull: pull.at, default=None),
        record.reviewed_at,
        record.conflict_at,
    )


def _state(
    sandbox: Sandbox,
    agents: Sequence[ReportedAgent],
    record: WorkRecord,
    *,
    conflict: TreeConflict | None,
) -> WorkState | None:
    if sandbox.state in GONE:
        return None
    facts = WorkFacts(
        _task(sandbox),
        _agents(agents),
        asked=bool(record.asked) and sandbox.state in RUNNING,
        conflict=conflict is not None,
        changed=any(tree.mark for tree in record.trees),
        settled=_settled(sandbox, record),
        archived=sandbox.archived_at is not None,
    )
    return state_of(facts)


def _task(sandbox: Sandbox) -> TaskFact:
    task, project = sandbox.task, sandbox.project
    if task is None:
        return TaskFact.NONE
    match task.state:
        case TaskState.GIVEN:
            return TaskFact.GIVEN
        case TaskState.FAILED:
            return TaskFact.HELD
        case TaskState.QUEUED | TaskState.WAITING:  # pragma: no branch - the cases are all
            held = project is not None and project.state is SetupState.FAILED
            begins = sandbox.state in RUNNING | {State.REQUESTED, State.PROVISIONING}
            return TaskFact.QUEUED if begins and not held else TaskFact.HELD


def _agents(agents: Iterable[ReportedAgent]) -> AgentsFact:
    return max(map(_agent, agents), key=lambda fact: fact.value, default=AgentsFact.NONE)


def _agent(agent: ReportedAgent) -> AgentsFact:
    status = agent.status
    match status.status:
        case "needs_you":
            return AgentsFact.CALLS
        case "working":
            return AgentsFact.WORKING
        case "failed":
            return AgentsFact.FAILED
        case "done":
            return AgentsFact.ENDED
        case "idle" | "stopped":  # pragma: no branch - the cases are all
            if status.turns:
                return AgentsFact.ENDED
            silent = status.status == "idle" and not status.reason
            return AgentsFact.SILENT if silent else AgentsFact.IDLE


def _number(sandbox: Sandbox, tree: TreeReport) -> int | None:
    """Return the number of the repository that a tree is of, None for one that is none of the
    sandbox's."""
    paths = [repo.path for repo in sandbox.repos] or [WORKSPACE]
    return paths.index(tree.path) if tree.path in paths else None


def _conflict(sandbox: Sandbox, record: WorkRecord) -> TreeConflict | None:
    for tree in record.trees:
        number = _number(sandbox, tree)
        if tree.conflict is not None and number is not None:
            return TreeConflict(number, tree)
    return None


def _settled(sandbox: Sandbox, record: WorkRecord) -> WorkState | None:
    """Return what the change of all trees came to: of those that changed, the state that is least
    far; where none did, the newest."""
    ends = [(tree, _end(sandbox, tree, record)) for tree in record.trees]
    changed = [end for tree, end in ends if tree.mark]
    reached = changed if changed else [_newest(record)]
    if None not in reached:
        order = (WorkState.PR_OPEN, WorkState.PR_MERGED, WorkState.MERGED)
        return min((end for end in reached if end is not None), key=order.index, default=None)
    return WorkState.REVIEWED if record.reviewed == mark_of(record) else None


def _end(sandbox: Sandbox, tree: TreeReport, record: WorkRecord) -> WorkState | None:
    """Return how far the present change of one tree came."""
    number = _number(sandbox, tree)
    merged = any(merge.repo == number and merge.mark == tree.mark for merge in record.merges)
    same = [
        pull.state
        for pull in record.pulls
        if pull.repo == number and (tree.path, tree.mark) in pull.marks
    ]
    return _furthest(merged=merged, pulls=same)


def _newest(record: WorkRecord) -> WorkState | None:
    """Return the end of work of which no change is left: all of it is where it was to go."""
    entries = chain(((merge.at, None) for merge in record.merges), _states(record))
    newest = max(entries, key=lambda entry: entry[0], default=None)
    if newest is None:
        return None
    return _furthest(merged=newest[1] is None, pulls=[] if newest[1] is None else [newest[1]])


def _states(record: WorkRecord) -> Iterable[tuple[str, PullState | None]]:
    return ((pull.at, pull.state) for pull in record.pulls)


def _furthest(*, merged: bool, pulls: Sequence[PullState]) -> WorkState | None:
    if PullState.MERGED in pulls:
        return WorkState.PR_MERGED
    if merged:
        return WorkState.MERGED
    return WorkState.PR_OPEN if PullState.OPEN in pulls else None
