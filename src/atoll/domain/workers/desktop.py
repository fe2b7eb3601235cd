"""A desktop: a person's own machine that hosts workers of that person alone, while it is linked.

It dials out: the control plane never reaches it. What it knows of the desktop is what that said.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.errors import Invalid
from atoll.domain.ids import DesktopId, OrgId, PrincipalId
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.heartbeat import STALE_AFTER
from atoll.wire.words.workers import LONGEST_NOTE, MOST_NOTES

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class Desktop:
    """A linked desktop. `heard_at` is when its lane was heard last; `isolation` is the wall that
    it said its workers have. Both are None before its lane has run."""

    id: DesktopId
    org_id: OrgId
    owner: PrincipalId
    name: str
    linked_at: datetime
    heard_at: datetime | None = None
    isolation: Isolation | None = None

    def is_there(self, now: datetime) -> bool:
        """Report whether its lane runs: it was heard not long ago."""
        return self.heard_at is not None and now - self.heard_at < STALE_AFTER


def judge_desktop_name(name: str) -> str:
    """Return the name of a desktop. Raises `Invalid`."""
    if not _NAME.match(name):
        raise Invalid(
            "a desktop's name has 1 to 40 small letters, digits and hyphens, and begins with a "
            "letter or a digit",
            field="desktop",
        )
    return name


def judge_isolation(isolation: Isolation) -> Isolation:
    """Return the wall that a desktop reports, within bounds. Raises `Invalid`."""
    notes = isolation.degraded
    if len(notes) > MOST_NOTES or any(len(one) > LONGEST_NOTE for one in notes):
        raise Invalid(
            f"at most {MOST_NOTES} notes of {LONGEST_NOTE} characters say what a wall lacks",
            field="isolation.degraded",
        )
    return isolation
