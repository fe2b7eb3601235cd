"""Words and bounds of forges."""

from enum import StrEnum
from typing import Final

MAX_NAMES: Final = 100
"""Branches and repositories of a forge in one answer."""

MAX_TITLE: Final = 250

MAX_TEXT: Final = 16_000

MAX_COMMENTS: Final = 200

MAX_CHECKS: Final = 100

MAX_PULLS: Final = 20


class PullState(StrEnum):
    """The state of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class IssueKind(StrEnum):
    """The kind of what a task begins with."""

    ISSUE = "issue"
    PULL = "pull"


class CheckState(StrEnum):
    """The state of a check."""

    PENDING = "pending"
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class ForgeKind(StrEnum):
    """The programs that forges run, whose APIs are known here."""

    GITHUB = "github"
    GITEA = "gitea"
