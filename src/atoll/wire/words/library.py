"""Words and bounds of repositories and of the work in them."""

from enum import StrEnum
from typing import Final

MAX_REPOS: Final = 16
"""The number of repositories of a sandbox."""

MAX_COMMITS: Final = 200
"""Commits of one page."""

MAX_PATHS: Final = 200
"""Files that a request names."""

MAX_MESSAGE_CHARS: Final = 10_000
"""The characters of a commit's message."""

MAX_CHECKPOINT: Final = 999_999_999
"""The largest number of a checkpoint."""

MAX_CHANGE_SECONDS: Final = 50
"""The longest wait for a change."""

KEPT_ORDERS: Final = 256
"""Orders of one person that are remembered; the newest are kept."""

MAX_TAKE_SECONDS: Final = 25
"""The longest wait for a pull order."""

MAX_PUSHES: Final = 32
"""The number of held pushes of a sandbox."""

MAX_THREADS: Final = 500
"""The review threads of one sandbox, resolved ones among them."""

MAX_THREADS_SENT: Final = 100
"""The review threads that one request sends."""

MAX_REMARK_BYTES: Final = 16 * 1024
"""The bound on the text of a remark in bytes, once invisible characters are spelled."""

MAX_ANCHOR_LINES: Final = 100
"""The most lines that a review thread is about."""

MAX_LINE: Final = 10_000_000
"""The largest number of a line."""


class ProposalKind(StrEnum):
    """The kinds of what a project file may ask for and a person decides."""

    SETUP = "setup"
    SERVER = "server"
    COPY = "copy"
    NETWORK = "network"
    HOST = "host"
    PORT = "port"
    ENV = "env"
    PROFILE = "profile"


class ProjectDecision(StrEnum):
    """A person's decision on a project file."""

    APPROVED = "approved"
    DECLINED = "declined"


class OrderState(StrEnum):
    """States of an order: it waits, is taken, and ends `done` or `failed`. One that waits can be
    cancelled."""

    WAITING = "waiting"
    TAKEN = "taken"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Against(StrEnum):
    """The side that the working tree is compared with."""

    BASE = "base"
    TURN = "turn"
    UNCOMMITTED = "uncommitted"


class ChangeKind(StrEnum):
    """The way in which a file differs."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    RETYPED = "retyped"
    UNMERGED = "unmerged"


class Side(StrEnum):
    """The side of a diff: the file before the change, or after it."""

    OLD = "old"
    NEW = "new"


class RefKind(StrEnum):
    """A kind of name for a commit."""

    BRANCH = "branch"
    REMOTE = "remote"
    TAG = "tag"


class SyncAct(StrEnum):
    """Acts of a sync: rebase, give up a rebase that stopped, or look whether one stopped."""

    REBASE = "rebase"
    ABORT = "abort"
    LOOK = "look"


class SyncOutcome(StrEnum):
    """Outcomes of a sync. After `conflict` a rebase waits inside; `current` had nothing to bring,
    `clean` nothing to give up."""

    UPDATED = "updated"
    CURRENT = "current"
    CONFLICT = "conflict"
    ABORTED = "aborted"
    CLEAN = "clean"


class ConflictKind(StrEnum):
    """The git command that stopped at a conflict and waits to be continued."""

    REBASE = "rebase"
    MERGE = "merge"
    CHERRY_PICK = "cherry_pick"
    REVERT = "revert"


class MergeOutcome(StrEnum):
    """Outcomes of a merge. After `conflict` a rebase waits inside, and nothing was merged."""

    MERGED = "merged"
    CONFLICT = "conflict"


class MergeWay(StrEnum):
    """Ways to bring a branch into another one: by a merge commit, as one commit, or commit by
    commit."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


ROOT_FOLDER: Final = "root"
"""The id of a drive's first folder."""

MAX_FILE_NAME: Final = 255
"""The length of a file's name in a drive."""

MAX_SEARCH: Final = 100
"""The length of a name that is searched for in a drive."""
