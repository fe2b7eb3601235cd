"""Words and bounds of the overview: search, usage and oversight."""

from enum import StrEnum
from typing import Final

MAX_QUERY: Final = 200
MAX_HITS: Final = 50
MAX_OFFSET: Final = 1_000_000

MAX_POINTS: Final = 92 * 24 + 1
"""The most points of a series: the hours of 92 days, and that of now."""


class HitKind(StrEnum):
    """The kind of a thing that is found. Each is shown to whoever may read such things."""

    SANDBOX = "sandbox"
    TASK = "task"
    BRANCH = "branch"
    DASHBOARD = "dashboard"
    SECRET = "secret"  # noqa: S105 - a kind, no secret
    MEMBER = "member"
    PROFILE = "profile"
    EVENT = "event"


class SortKey(StrEnum):
    """The columns that the list is sorted by. `tokens` and `traffic` are sums of both ways."""

    NAME = "name"
    STATE = "state"
    OWNER = "owner"
    CREATED = "created"
    TOKENS = "tokens"
    TRAFFIC = "traffic"
