"""Contents: disk images of an organization that are kept, and read again as they were.

An image may be sparse. It is kept in pieces; equal pieces of one organization are stored once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NewType

from atoll.domain.errors import Failed, NotFound
from atoll.domain.ids import OrgId

ContentId = NewType("ContentId", str)

DRAFT_LIFE: Final = timedelta(hours=1)
"""The time after which a content that is being made counts as abandoned, unless it is renewed."""
GRACE: Final = timedelta(hours=1)
"""The time for which a blob stays after the last content that needed it."""


@dataclass(frozen=True, slots=True)
class Content:
    """A kept content. `size` is its length with holes and `data` without, `stored` what was stored
    for it beside what was there already, all in bytes. `chunks` are its pieces."""

    id: ContentId
    org_id: OrgId
    size: int
    data: int
    stored: int
    chunks: int
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of reading a whole content: the names of its blobs that are missing or changed.
    `blobs` is how many it has."""

    id: ContentId
    blobs: int
    damaged: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Report whether everything is there as it was stored."""
        return not self.damaged


@dataclass(frozen=True, slots=True)
class Collection:
    """The result of a collection: abandoned drafts that ended, and blobs that were deleted."""

    drafts: int = 0
    blobs: int = 0


def damaged_error(content_id: ContentId, reason: str) -> Failed:
    """Return the error of a content that cannot be read whole. It names no key and no path."""
    return Failed(
        f"The content {content_id} cannot be read whole: {reason}. Verify it to see what is left, "
        "and use another snapshot.",
        code="content_damaged",
    )


def missing_content(content_id: str) -> NotFound:
    """Return the error for a content that is not there for its caller."""
    return NotFound(f"There is no content {content_id[:80]!r} here.")
