"""Comments on the items of a dashboard: their bounds, and who may do what with one. Pure.

Whoever sees a dashboard may comment on it. A comment keeps the name of who wrote it, so it stays
theirs when they leave. It may outlive its item.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from atoll.domain.dashboards.dashboard import Dashboard, may_manage, role_of
from atoll.domain.dashboards.item import ITEM_ID
from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import DashboardId, OrgId, PrincipalId
from atoll.domain.people.principal import Principal
from atoll.wire.words.dashboards import MAX_COMMENT_BYTES, MAX_MENTIONS

CommentId = NewType("CommentId", str)

MAX_COMMENTS = 1000
"""The comments of one dashboard, resolved ones among them."""


_WRITTEN = "\n\t"
"""The control characters that a comment may have."""


@dataclass(frozen=True, slots=True)
class DashboardComment:
    """A comment on an item. `author_name` is how its author was called, empty where they had no
    name; `mentions` are the people whom it names."""

    id: CommentId
    dashboard_id: DashboardId
    org_id: OrgId
    item_id: str
    author: PrincipalId
    author_name: str
    text: str
    at: datetime
    mentions: tuple[PrincipalId, ...] = ()
    resolved: bool = False


def read_comment(text: str) -> str:
    """Return the text of a comment without the blanks around it. Raises `Invalid`."""
    said = text.replace("\r\n", "\n").strip()
    if not said or any(map(_is_control, said)):
        raise Invalid("a comment is text of printable characters", field="text")
    if len(said.encode()) > MAX_COMMENT_BYTES:
        raise Invalid(f"a comment has at most {MAX_COMMENT_BYTES} bytes", field="text")
    return said


def _is_control(char: str) -> bool:
    return char not in _WRITTEN and unicodedata.category(char) in ("Cc", "Cs")


def read_item_id(text: str) -> str:
    """Return `text` when it can be the id of an item. Raises `Invalid`."""
    if not ITEM_ID.fullmatch(text):
        raise Invalid("`item_id` is the id of an item: `itm_` and 16 of `a-z0-9`", field="item_id")
    return text


def read_mentions(ids: Iterable[str]) -> tuple[PrincipalId, ...]:
    """Return the people whom a comment mentions, each once. Raises `Invalid`."""
    found = tuple(dict.fromkeys(map(PrincipalId, ids)))
    if len(found) > MAX_MENTIONS:
        raise Invalid(f"a comment mentions at most {MAX_MENTIONS} people", field="mentions")
    return found


def check_mentioned(dashboard: Dashboard, people: Iterable[Principal | None]) -> None:
    """Check that all who are mentioned see the dashboard. Raises `Invalid`, in the same words for
    who does not and for who does not exist (None)."""
    if any(one is None or role_of(one, dashboard) is None for one in people):
        raise Invalid("mention people who see the dashboard", field="mentions")


def check_room(caller: Principal, comments: int) -> None:
    """Check that a dashboard takes another comment. Raises `LimitReached`; for a guest at half of
    the bound, so that members find room."""
    most = MAX_COMMENTS if caller.guest_access is None else MAX_COMMENTS // 2
    if comments >= most:
        raise LimitReached(f"the dashboard has {most} comments: delete some first")


def check_comments(caller: Principal) -> None:
    """Check that the caller may comment on a dashboard that they see. Raises `Forbidden` for a
    guest who only looks."""
    if caller.guest_access is not None and not caller.guest_access.edits:
        raise Forbidden("your link lets you look at this dashboard, and not comment on it")


def check_resolves(caller: Principal, dashboard: Dashboard, comment: DashboardComment) -> None:
    """Check that the caller may resolve a comment, or open it again: its author, and who edits the
    dashboard. Raises `Forbidden`."""
    role = role_of(caller, dashboard) if caller.guest_access is None else None
    if caller.id != comment.author and (role is None or not role.edits):
        raise Forbidden("only the author of the comment and the editors of the dashboard may do so")


def check_removes(caller: Principal, dashboard: Dashboard, comment: DashboardComment) -> None:
    """Check that the caller may delete a comment: its author, and who manages the dashboard. Raises
    `Forbidden`."""
    if caller.id != comment.author and not may_manage(caller, dashboard):
        raise Forbidden("only the author of the comment and the dashboard's owner may delete it")


def unknown_comment(ref: str) -> NotFound:
    """Return the error for a comment that is not on the dashboard."""
    return NotFound(f"There is no comment {ref[:80]!r} on this dashboard.")
