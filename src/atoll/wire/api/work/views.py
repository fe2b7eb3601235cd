"""The work in a sandbox as the API shows it."""

from atoll.wire.api.operation import Answer
from atoll.wire.words.forges import PullState
from atoll.wire.words.library import ConflictKind, MergeWay
from atoll.wire.words.sandboxes import WorkState


class ConflictView(Answer):
    """A git command that stopped at a conflict in repository number `repo`, onto or with `onto`.
    `files` are in conflict, `more` counts those left out."""

    repo: int
    kind: ConflictKind
    onto: str
    files: list[str]
    more: int


class MergeView(Answer):
    """A merge of repository number `repo` into a branch, whose newest commit it made `commit`."""

    repo: int
    into: str
    way: MergeWay
    commit: str
    at: str


class PullMarkView(Answer):
    """A pull request that was opened for repository number `repo`; `pull` is its number."""

    repo: int
    pull: int
    branch: str
    base: str
    state: PullState
    at: str


class WorkView(Answer):
    """The work in a sandbox; null where there is none.

    `state` is shown before the sandbox's own. `mark` names the change itself: it stays the same
    when that is committed or rebased. Commits, lines and files are counted in the working trees as
    they are now. `conflict` waits; `merge` and `pull` are the newest.
    """

    state: WorkState
    mark: str
    commits: int
    plus: int
    minus: int
    uncommitted: int
    conflict: ConflictView | None
    merge: MergeView | None
    pull: PullMarkView | None
    reviewed_at: str | None
