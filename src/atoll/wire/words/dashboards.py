"""Words and bounds of dashboards."""

from enum import StrEnum
from typing import Final

MAX_COMMENT_BYTES: Final = 4096
MAX_MENTIONS: Final = 20

MAX_PEOPLE: Final = 200
"""The people and groups with a role on a dashboard, besides its owner."""

BLANK: Final = "blank"
"""The template of a dashboard without items."""


class DashboardScope(StrEnum):
    """The people who see a dashboard: those it names (`private`), or all members (`shared`)."""

    PRIVATE = "private"
    SHARED = "shared"


class DashboardRole(StrEnum):
    """A person's role on a dashboard, from the most to the least."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"

    @property
    def edits(self) -> bool:
        """Return whether this role may change the document."""
        return self is not DashboardRole.VIEWER
