"""Mentions: what on a dashboard waits for one person. Pure.

A comment mentions people by their ids, or by `@` and a name. A todo that is assigned to somebody
waits for them until it is done. A mention is shown to who sees the dashboard still, and ends with
its comment, or with its todo.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from atoll.domain.dashboards.comment import CommentId
from atoll.domain.dashboards.item import Fields, RichText
from atoll.domain.ids import DashboardId, OrgId, PrincipalId

MentionId = NewType("MentionId", str)

MAX_MENTIONED = 200
"""The mentions of one person that are kept: the newest."""

MAX_SAID = 4096
"""The most characters of a text that a mention holds."""


class MentionKind(StrEnum):
    """The thing that mentions a person."""

    COMMENT = "comment"
    TODO = "todo"


@dataclass(frozen=True, slots=True)
class DashboardMention:
    """A mention of `person` by `author` on an item. `text` is what was said, as it was then.
    `dismissed` is a todo's, which its person has seen: it is kept until another one gets it."""

    id: MentionId
    org_id: OrgId
    dashboard_id: DashboardId
    item_id: str
    person: PrincipalId
    kind: MentionKind
    author: PrincipalId
    author_name: str
    text: str
    at: datetime
    comment_id: CommentId | None = None
    dismissed: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """A todo that waits for a person."""

    person: PrincipalId
    text: str


def named_in(
    text: str, names: Mapping[PrincipalId, str], given: Collection[PrincipalId] = ()
) -> tuple[PrincipalId, ...]:
    """Return the people whose names stand in a text after `@`, besides those with the name of
    somebody `given`. A longer name comes before one that it begins with; a name of several people
    means all of them."""
    rest = text.casefold()
    people: dict[str, list[PrincipalId]] = {}
    for person, name in names.items():
        people.setdefault(name.strip().casefold(), []).append(person)
    found: list[PrincipalId] = []
    for name in sorted(people, key=len, reverse=True):
        if not name or f"@{name}" not in rest:
            continue
        rest, times = re.subn(rf"(?<!\w)@{re.escape(name)}(?!\w)", " ", rest)
        if times and not any(one in given for one in people[name]):
            found += people[name]
    return tuple(found)


def assignment_of(fields: Fields | None) -> Assignment | None:
    """Return for whom an item waits; None for one that is no todo, is done, or is nobody's."""
    if fields is None or fields.get("kind") != "todo" or fields.get("done") is True:
        return None
    person = fields.get("assignee")
    if not isinstance(person, str) or not person:
        return None
    said = [_plain_text(fields.get(name)) for name in ("title", "text")]
    return Assignment(PrincipalId(person), "\n".join(one for one in said if one)[:MAX_SAID])


def _plain_text(value: object) -> str:
    if isinstance(value, RichText):
        return value.plain.strip()
    return value.strip() if isinstance(value, str) else ""
