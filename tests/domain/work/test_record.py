"""The record of work, derived from the log."""

from datetime import timedelta

import pytest

from atoll.domain.event import Event, Json, sandbox_stream
from atoll.domain.ids import EventId, OrgId
from atoll.domain.work.record import MAX_PENDING, MAX_PULLS, WORK, WorkRecord, mark_of, read_record
from atoll.testing.samples import NOW
from atoll.wire.words.forges import PullState
from atoll.wire.words.library import MergeWay

TREE: dict[str, Json] = {"path": "/workspace", "branch": "fix", "mark": "m1", "plus": 3}
PULL: dict[str, Json] = {"repo": 0, "pull": 7, "branch": "fix", "base": "main", "commit": "c"}
MERGE: dict[str, Json] = {
    "repo": 0, "into": "main", "way": "squash", "commit": "c", "mark": "m1"
}  # fmt: skip


def event(kind: str, position: int = 1, **payload: Json) -> Event:
    return Event(
        EventId(f"evt_{position}"),
        position,
        sandbox_stream("sb_1"),
        position,
        kind,
        1,
        NOW + timedelta(seconds=position),
        OrgId("personal"),
        "atm",
        "atoll",
        None,
        payload,
    )


def after(*events: tuple[str, dict[str, Json]]) -> WorkRecord:
    """Return the record after these events, in their order."""
    numbered = [event(kind, number, **payload) for number, (kind, payload) in enumerate(events, 1)]
    state = WORK.after(None, numbered)
    return read_record(None if state is None else state.body)


def test_report_of_trees_replaces_the_one_before() -> None:
    record = after(("git.tree", {"trees": [TREE]}), ("git.tree", {"trees": [{**TREE, "plus": 5}]}))
    assert [(tree.path, tree.plus) for tree in record.trees] == [("/workspace", 5)]
    assert mark_of(record) and mark_of(record) != mark_of(after(("git.tree", {"trees": []})))


@pytest.mark.parametrize(
    "wrong",
    [
        {"trees": "all"},
        {"trees": [TREE] * 17},
        {"trees": [{**TREE, "commits": -1}]},
        {"trees": [{**TREE, "conflict": "sings"}]},
        {"trees": [{**TREE, "branch": "b" * 301}]},
        {"trees": [{**TREE, "files": ["f"] * 51}]},
    ],
)
def test_report_that_does_not_fit_is_ignored(wrong: dict[str, Json]) -> None:
    record = after(("git.tree", {"trees": [TREE]}), ("git.tree", wrong))
    assert [tree.plus for tree in record.trees] == [3]


def test_review_is_taken_back_and_ends_with_the_next_turn() -> None:
    reviewed: tuple[str, dict[str, Json]] = ("work.reviewed", {"mark": "m"})
    assert after(reviewed).reviewed == "m"
    assert after(reviewed).reviewed_at == "2026-01-01T12:00:01.123Z"
    assert after(reviewed, ("work.reviewed", {"mark": None})).reviewed is None
    again: dict[str, Json] = {"status": "working", "begins": True}
    assert after(reviewed, ("agent.status", again)).reviewed is None
    goes_on: dict[str, Json] = {"status": "working", "begins": False}
    assert after(reviewed, ("agent.status", goes_on)).reviewed == "m"


def test_state_that_was_told_last_is_remembered() -> None:
    told: dict[str, Json] = {"work_state": "reviewed"}
    assert after(("work.changed", told)).reported == "reviewed"
    untold: dict[str, Json] = {"work_state": None}
    assert after(("work.changed", told), ("work.changed", untold)).reported is None


def test_newest_merge_into_a_branch_is_kept() -> None:
    record = after(("work.merged", MERGE), ("work.merged", {**MERGE, "commit": "d"}))
    assert [(one.into, one.way, one.commit) for one in record.merges] == [
        ("main", MergeWay.SQUASH, "d")
    ]
    many: list[tuple[str, dict[str, Json]]] = [
        ("work.merged", {**MERGE, "into": f"b{number}"}) for number in range(MAX_PULLS + 2)
    ]
    assert next(one.into for one in after(*many).merges) == "b2"


def test_pull_request_knows_the_change_it_was_opened_for() -> None:
    record = after(("git.tree", {"trees": [TREE]}), ("git.pull_opened", PULL))
    (pull,) = record.pulls
    assert (pull.pull, pull.state, pull.marks) == (7, PullState.OPEN, (("/workspace", "m1"),))
    merged = after(("git.pull_opened", PULL), ("git.pull_changed", {**PULL, "state": "merged"}))
    assert [one.state for one in merged.pulls] == [PullState.MERGED]
    other = after(
        ("git.pull_opened", PULL), ("git.pull_changed", {**PULL, "pull": 8, "state": "merged"})
    )
    assert [one.state for one in other.pulls] == [PullState.OPEN]


def test_pull_request_with_newer_commits_is_for_the_newer_change() -> None:
    trees: list[Json] = [{**TREE, "mark": "m2"}]
    tree: tuple[str, dict[str, Json]] = ("git.tree", {"trees": trees})
    newer = {**PULL, "commit": "d" * 40}
    closed = ("git.pull_changed", {**PULL, "state": "closed"})
    record = after(("git.pull_opened", PULL), closed, tree, ("git.pull_updated", newer))
    (pull,) = record.pulls
    assert (pull.commit, pull.state) == ("d" * 40, PullState.OPEN)
    assert pull.marks == (("/workspace", "m2"),)


def test_approvals_wait_until_they_are_decided() -> None:
    asked = [asked_for(number) for number in range(3)]
    assert after(*asked, ("approval.denied", {"approval_id": "ap_1"})).asked == ("ap_0", "ap_2")
    many = [asked_for(number) for number in range(MAX_PENDING + 1)]
    assert len(after(*many).asked) == MAX_PENDING


def asked_for(number: int) -> tuple[str, dict[str, Json]]:
    return "approval.asked", {"approval_id": f"ap_{number}"}


def test_record_ends_with_its_sandbox() -> None:
    state = WORK.after(None, [event("git.tree", 1, trees=[TREE]), event("sandbox.destroyed", 2)])
    assert state is not None and state.body is None
