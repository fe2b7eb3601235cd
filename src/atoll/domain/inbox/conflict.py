"""The item of a conflict in the inbox: a rebase or merge of a sandbox that stopped.

Pure. Names of branches and files come from inside, so they are spelled out.
"""

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.inbox.item import InboxItem, digest_of
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.work.state import TreeConflict
from atoll.wire.contract.agents import StatusOption
from atoll.wire.words.agents import AnswerBy, ItemKind
from atoll.wire.words.library import ConflictKind

PREFIX = "conflict_"
"""The beginning of the id of an item; its sandbox's id follows."""

AGENT, TERMINAL, ABORT = "agent", "terminal", "abort"

MAX_FILES = 30

_STOPPED = {
    ConflictKind.REBASE: "A rebase onto newer commits of {} stopped at a conflict.",
    ConflictKind.MERGE: "A merge of {} stopped at a conflict.",
    ConflictKind.CHERRY_PICK: "A cherry-pick of {} stopped at a conflict.",
    ConflictKind.REVERT: "A revert of {} stopped at a conflict.",
}
_ABORTS = {
    ConflictKind.REBASE: "Give the rebase up",
    ConflictKind.MERGE: "Give the merge up",
    ConflictKind.CHERRY_PICK: "Give the cherry-pick up",
    ConflictKind.REVERT: "Give the revert up",
}


def item_of_conflict(
    sandbox: Sandbox, conflict: TreeConflict, *, since: str, agent: str | None
) -> InboxItem:
    """Return the item of a conflict. `agent` names the one that could resolve it."""
    tree = conflict.tree
    kind = tree.conflict or ConflictKind.REBASE
    files = [spelled_out(path) for path in tree.files[:MAX_FILES]]
    more = len(tree.files) + tree.more - len(files)
    lines = (
        spelled_out(_STOPPED[kind].format(tree.onto or "another branch")),
        *files,
        *((f"and {more} more",) if more else ()),
        *(() if files else ("No file is in conflict any more: it waits to be continued.",)),
    )
    hand_over = (StatusOption(AGENT, f"Let {agent} resolve it", "allow"),) if agent else ()
    return InboxItem(
        id=f"{PREFIX}{sandbox.id}",
        kind=ItemKind.CONFLICT,
        sandbox_id=sandbox.id,
        sandbox_name=sandbox.name,
        since=since,
        lines=lines,
        options=(
            *hand_over,
            StatusOption(TERMINAL, "Resolve it in a terminal"),
            StatusOption(ABORT, _ABORTS[kind], "deny"),
        ),
        by=AnswerBy.PERSON,
        shown=digest_of((sandbox.id, str(conflict.repo), tree.head, kind.value, *lines)),
        agent=agent,
    )
