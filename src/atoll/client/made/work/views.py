"""The work in a sandbox as the API shows it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

ConflictKind = Literal["rebase", "merge", "cherry_pick", "revert"]

MergeWay = Literal["merge", "squash", "rebase"]

PullState = Literal["open", "merged", "closed"]

WorkState = Literal[
    "queued",
    "working",
    "needs_you",
    "to_review",
    "in_conflict",
    "reviewed",
    "merged",
    "pr_open",
    "pr_merged",
    "archived",
]


class Conflict(Shape):
    """A git command that stopped at a conflict in repository number `repo`, onto or with `onto`.
    `files` are in conflict, `more` counts those left out."""

    repo = fields.number()
    kind: Field[ConflictKind] = fields.word()
    onto = fields.text()
    files = fields.texts()
    more = fields.number()


class Merge(Shape):
    """A merge of repository number `repo` into a branch, whose newest commit it made `commit`."""

    repo = fields.number()
    into = fields.text()
    way: Field[MergeWay] = fields.word()
    commit = fields.text()
    at = fields.text()


class PullMark(Shape):
    """A pull request that was opened for repository number `repo`; `pull` is its number."""

    repo = fields.number()
    pull = fields.number()
    branch = fields.text()
    base = fields.text()
    state: Field[PullState] = fields.word()
    at = fields.text()


class Work(Shape):
    """The work in a sandbox; null where there is none. `state` is shown before the sandbox's
    own. `mark` names the change itself: it stays the same when that is committed or rebased.
    Commits, lines and files are counted in the working trees as they are now. `conflict` waits;
    `merge` and `pull` are the newest."""

    state: Field[WorkState] = fields.word()
    mark = fields.text()
    commits = fields.number()
    plus = fields.number()
    minus = fields.number()
    uncommitted = fields.number()
    conflict = fields.one(Conflict)
    merge = fields.one(Merge)
    pull = fields.one(PullMark)
    reviewed_at = fields.text()
