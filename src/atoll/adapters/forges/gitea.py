"""Gitea's REST interface (version 1), which Forgejo has, too."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from atoll.adapters.forges.http import PER_PAGE, ForgeHttp, ForgeRequest
from atoll.adapters.forges.reading import newest_comments, sorted_checks
from atoll.domain.errors import NotFound
from atoll.domain.repository.forge import (
    Check,
    ForgeComment,
    ForgeRepository,
    NewPull,
    PullRequest,
    fork_of,
    plain_line,
    plain_text,
)
from atoll.domain.repository.issue import ForgeIssue
from atoll.wire.words.forges import MAX_PULLS, MAX_TITLE, CheckState, PullState

DRAFT: Final = "WIP: "
"""A title that begins so makes a draft."""

MAX_REVIEWS: Final = 20
"""Reviews whose comments are read, the newest: each takes a request of its own."""

_LIMIT: Final = {"limit": "50"}
"""The most that a Gitea gives in one page, unless it is set otherwise."""

_STATES: Final = {
    "pending": CheckState.PENDING,
    "success": CheckState.PASSED,
    "skipped": CheckState.SKIPPED,
}

T = TypeVar("T")


class _Repository(msgspec.Struct):
    full_name: str = ""
    default_branch: str = ""


class _Commit(msgspec.Struct):
    id: str


class _Branch(msgspec.Struct):
    name: str
    commit: _Commit


class _Place(msgspec.Struct):
    full_name: str = ""


class _End(msgspec.Struct):
    ref: str
    sha: str = ""
    repo: _Place | None = None


class _Pull(msgspec.Struct):
    number: int
    title: str
    state: str
    head: _End
    base: _End
    merged: bool = False
    draft: bool = False
    body: str | None = None


class _PullMark(msgspec.Struct):
    """The part of an issue that only a pull request has."""


class _Issue(msgspec.Struct):
    number: int
    title: str
    state: str
    body: str | None = None
    pull_request: _PullMark | None = None


class _Status(msgspec.Struct):
    context: str
    status: str


class _Statuses(msgspec.Struct):
    statuses: list[_Status] | None = None


class _User(msgspec.Struct):
    login: str


class _Comment(msgspec.Struct):
    """A comment, a comment on a line, or a review with its verdict."""

    id: int
    user: _User | None = None
    body: str = ""
    created_at: datetime | None = None
    submitted_at: datetime | None = None
    path: str | None = None
    position: int | None = None
    comments_count: int = 0


class Gitea:
    """The `Forge` and `IssueReader` (`ports.outside`) of repositories at a Gitea or Forgejo."""

    def __init__(self, http: ForgeHttp) -> None:
        self._http = http

    async def repositories(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        repositories = await self._get(at, "/user/repos", list[_Repository], _LIMIT)
        return tuple(plain_line(repository.full_name) for repository in repositories[:PER_PAGE])

    async def default_branch(self, at: ForgeRepository) -> str:
        """See the port."""
        return (await self._get(at, at.path, _Repository)).default_branch

    async def branches(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        branches = await self._get(at, f"{at.path}/branches", list[_Branch], _LIMIT)
        return tuple(plain_line(branch.name) for branch in branches[:PER_PAGE])

    async def commit_of(self, at: ForgeRepository, branch: str) -> str | None:
        """See the port."""
        try:
            head = await self._get(at, f"{at.path}/branches/{quote(branch, safe='')}", _Branch)
        except NotFound:
            # It says the same of a repository that is not there, which is no answer.
            await self.default_branch(at)
            return None
        return head.commit.id

    async def pulls(self, at: ForgeRepository, branch: str) -> Sequence[PullRequest]:
        """See the port. Those of other branches are left out here: of the newest 50, then."""
        query = {**_LIMIT, "state": "all", "sort": "recentupdate"}
        pulls = await self._get(at, f"{at.path}/pulls", list[_Pull], query)
        of_branch = (_pull(at, pull) for pull in pulls if pull.head.ref == branch)
        mine = [pull for pull in of_branch if not pull.fork]
        return tuple(sorted(mine, key=lambda pull: -pull.number)[:MAX_PULLS])

    async def issue(self, at: ForgeRepository, number: int) -> ForgeIssue:
        """See the port of issues."""
        issue = await self._get(at, f"{at.path}/issues/{number}", _Issue)
        return ForgeIssue(
            issue.number,
            plain_line(issue.title),
            plain_text(issue.body or ""),
            issue.state == "open",
            pull=issue.pull_request is not None,
        )

    async def pull(self, at: ForgeRepository, number: int) -> PullRequest:
        """See the port of issues."""
        return _pull(at, await self._get(at, f"{at.path}/pulls/{number}", _Pull))

    async def open_pull(self, at: ForgeRepository, new: NewPull) -> PullRequest:
        """See the port."""
        title = f"{DRAFT}{new.title}"[:MAX_TITLE] if new.draft else new.title
        body = {"title": title, "head": new.branch, "base": new.base, "body": new.text}
        request = ForgeRequest("POST", f"{at.path}/pulls", {}, body, scheme="token")
        return _pull(at, await self._http.send(at, request, _Pull))

    async def discussion(
        self, at: ForgeRepository, pull: PullRequest
    ) -> tuple[Sequence[Check], Sequence[ForgeComment]]:
        """See the port. Comments on lines are those of the newest reviews."""
        commit = quote(pull.commit, safe="")
        answer = await self._get(at, f"{at.path}/commits/{commit}/status", _Statuses, _LIMIT)
        checks = [
            Check(plain_line(status.context), _STATES.get(status.status, CheckState.FAILED))
            for status in answer.statuses or ()
        ]
        place = f"{at.path}/issues/{pull.number}/comments"
        entries = await self._get(at, place, list[_Comment], {})
        comments = _comments("issue", entries)
        place = f"{at.path}/pulls/{pull.number}/reviews"
        reviews = await self._get(at, place, list[_Comment], _LIMIT)
        comments += _comments("review", reviews)
        for review in [review for review in reviews if review.comments_count][-MAX_REVIEWS:]:
            lines = await self._get(at, f"{place}/{review.id}/comments", list[_Comment])
            comments += _comments("line", lines)
        return sorted_checks(checks), newest_comments(comments)

    async def _get(
        self, at: ForgeRepository, path: str, shape: type[T], query: Mapping[str, Any] | None = None
    ) -> T:
        request = ForgeRequest("GET", path, query or {}, scheme="token")
        return await self._http.send(at, request, shape)


def _pull(at: ForgeRepository, pull: _Pull) -> PullRequest:
    state = PullState.MERGED if pull.merged else PullState.CLOSED
    return PullRequest(
        pull.number,
        plain_line(pull.title.removeprefix(DRAFT) if pull.draft else pull.title),
        PullState.OPEN if pull.state == "open" else state,
        pull.draft,
        plain_line(pull.head.ref),
        plain_line(pull.base.ref),
        plain_line(pull.head.sha),
        plain_text(pull.body or ""),
        fork_of(at, None if pull.head.repo is None else pull.head.repo.full_name),
    )


def _comments(kind: str, entries: Iterable[_Comment]) -> list[ForgeComment]:
    comments = (_comment(kind, entry) for entry in entries)
    return [comment for comment in comments if comment is not None]


def _comment(kind: str, comment: _Comment) -> ForgeComment | None:
    """Return a comment; None for a review that says nothing itself, or is not sent yet."""
    at = comment.submitted_at or comment.created_at
    if at is None or not comment.body.strip():
        return None
    return ForgeComment(
        f"{kind}-{comment.id}",
        plain_line(comment.user.login if comment.user else "") or "somebody",
        plain_text(comment.body),
        at,
        None if comment.path is None else plain_line(comment.path, most=1000),
        comment.position or None,
    )
