"""The inbox item of a conflict."""

from msgspec.structs import replace

from atoll.domain.inbox.conflict import ABORT, AGENT, MAX_FILES, PREFIX, TERMINAL, item_of_conflict
from atoll.domain.work.state import TreeConflict
from atoll.testing.samples import sandbox
from atoll.wire.contract.trees import TreeReport
from atoll.wire.words.agents import AnswerBy, ItemKind
from atoll.wire.words.library import ConflictKind

AT = "2026-12-01T10:00:00.000Z"
BOX = sandbox("box")
TREE = TreeReport(
    "/workspace", "fix", "h", conflict=ConflictKind.REBASE, onto="main\x1b[2J", files=("a.txt",)
)


def test_item_says_what_stopped_and_offers_three_acts() -> None:
    item = item_of_conflict(BOX, TreeConflict(0, TREE), since=AT, agent="codex")
    assert (item.id, item.kind, item.by) == (
        f"{PREFIX}{BOX.id}",
        ItemKind.CONFLICT,
        AnswerBy.PERSON,
    )
    assert item.lines == (
        "A rebase onto newer commits of main\\x1b[2J stopped at a conflict.",
        "a.txt",
    )
    assert [(one.id, one.label) for one in item.options] == [
        (AGENT, "Let codex resolve it"),
        (TERMINAL, "Resolve it in a terminal"),
        (ABORT, "Give the rebase up"),
    ]


def test_item_without_an_agent_or_files_still_says_what_waits() -> None:
    tree = replace(TREE, conflict=ConflictKind.MERGE, onto="", files=())
    item = item_of_conflict(BOX, TreeConflict(0, tree), since=AT, agent=None)
    assert item.lines == (
        "A merge of another branch stopped at a conflict.",
        "No file is in conflict any more: it waits to be continued.",
    )
    assert [one.id for one in item.options] == [TERMINAL, ABORT]


def test_item_counts_the_files_that_it_does_not_name() -> None:
    files = tuple(f"{number}.txt" for number in range(MAX_FILES + 2))
    conflict = TreeConflict(0, replace(TREE, files=files, more=3))
    item = item_of_conflict(BOX, conflict, since=AT, agent=None)
    assert (len(item.lines), item.lines[-1]) == (MAX_FILES + 2, "and 5 more")
    moved = item_of_conflict(
        BOX, TreeConflict(0, replace(conflict.tree, head="i")), since=AT, agent=None
    )
    assert moved.shown != item.shown
