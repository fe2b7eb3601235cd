"""GitHub's REST interface (version 2022-11-28), at github.com or on a server of one's own."""

from collections.abc import Mapping, Sequence
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
from atoll.wire.words.forges import MAX_PULLS, CheckState, PullState

ACCEPT: Final = "application/vnd.github+json"
_PAGE: Final = {"per_page": str(PER_PAGE)}
_SKIPPED: Final = frozenset({"neutral", "skipped", "stale"})

T = TypeVar("T")


class _Repository(msgspec.Struct):
    full_name: str = ""
    default_branch: str = ""


class _Commit(msgspec.Struct):
    sha: str


class _Branch(msgspec.Struct):
    name: str
    commit: _Commit


class _Place(msgspec.Struct):
    full_name: str = ""


class _End(msgspec.Struct):
    ref: str
    sha: str
    repo: _Place | None = None


class _Pull(msgspec.Struct):
    number: int
    title: str
    state: str
    head: _End
    base: _End
    draft: bool = False
    body: str | None = None
    merged_at: str | None = None


class _PullMark(msgspec.Struct):
    """The part of an issue that only a pull request has."""


class _Issue(msgspec.Struct):
    number: int
    title: str
    state: str
    body: str | None = None
    pull_request: _PullMark | None = None


class _Run(msgspec.Struct):
    name: str
    status: str
    conclusion: str | None = None


class _Runs(msgspec.Struct):
    check_runs: list[_Run]


class _Status(msgspec.Struct):
    context: str
    state: str


class _Statuses(msgspec.Struct):
    statuses: list[_Status]


class _User(msgspec.Struct):
    login: str


class _Comment(msgspec.Struct):
    """A comment, a comment on a line, or a review with its verdict."""

    id: int
    user: _User | None = None
    body: str | None = None
    created_at: datetime | None = None
    submitted_at: datetime | None = None
    path: str | None = None
    line: int | None = None


class GitHub:
    """The `Forge` and `IssueReader` (`ports.outside`) of repositories at GitHub."""

    def __init__(self, http: ForgeHttp) -> None:
        self._http = http

    async def repositories(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        query = {**_PAGE, "sort": "pushed"}
        repositories = await self._get(at, "/user/repos", list[_Repository], query)
        return tuple(plain_line(repository.full_name) for repository in repositories)

    async def default_branch(self, at: ForgeRepository) -> str:
        """See the port."""
        return (await self._get(at, at.path, _Repository)).default_branch

    async def branches(self, at: ForgeRepository) -> Sequence[str]:
        """See the port."""
        branches = await self._get(at, f"{at.path}/branches", list[_Branch], _PAGE)
        return tuple(plain_line(branch.name) for branch in branches)

    async def commit_of(self, at: ForgeRepository, branch: str) -> str | None:
        """See the port."""
        try:
            head = await self._get(at, f"{at.path}/branches/{quote(branch, safe='')}", _Branch)
        except NotFound:
            # It says the same of a repository that is not there, which is no answer.
            await self.default_branch(at)
            return None
        return head.commit.sha

    async def pulls(self, at: ForgeRepository, branch: str) -> Sequence[PullRequest]:
        """See the port."""
        query = {
            "head": f"{at.owner}:{branch}",
            "state": "all",
            "sort": "created",
            "direction": "desc",
            "per_page": str(MAX_PULLS),
        }
        pulls = await self._get(at, f"{at.path}/pulls", list[_Pull], query)
        return tuple(_pull(at, pull) for pull in pulls if pull.head.ref == branch)

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
        body = {
            "title": new.title,
            "head": new.branch,
            "base": new.base,
            "body": new.text,
            "draft": new.draft,
        }
        request = ForgeRequest("POST", f"{at.path}/pulls", {}, body, accept=ACCEPT)
        return _pull(at, await self._http.send(at, request, _Pull))

    async def discussion(
        self, at: ForgeRepository, pull: PullRequest
    ) -> tuple[Sequence[Check], Sequence[ForgeComment]]:
        """See the port."""
        commit, number = quote(pull.commit, safe=""), pull.number
        runs = await self._get(at, f"{at.path}/commits/{commit}/check-runs", _Runs, _PAGE)
        answer = await self._get(at, f"{at.path}/commits/{commit}/status", _Statuses, _PAGE)
        checks = [Check(plain_line(run.name), _run_state(run)) for run in runs.check_runs]
        checks += [
            Check(plain_line(status.context), _state(status.state)) for status in answer.statuses
        ]
        lines = f"{at.path}/pulls/{number}"
        newest = {**_PAGE, "sort": "created", "direction": "desc"}
        comments: list[ForgeComment] = []
        for kind, path, query in (
            ("line", f"{lines}/comments", newest),
            ("review", f"{lines}/reviews", _PAGE),
            ("issue", f"{at.path}/issues/{number}/comments", _PAGE),
        ):
            entries = await self._get(at, path, list[_Comment], query)
            made = (_comment(kind, entry) for entry in entries)
            comments += [comment for comment in made if comment is not None]
        return sorted_checks(checks), newest_comments(comments)

    async def _get(
        self, at: ForgeRepository, path: str, shape: type[T], query: Mapping[str, Any] | None = None
    ) -> T:
        return await self._http.send(
            at, ForgeRequest("GET", path, query or {}, accept=ACCEPT), shape
        )


def _pull(at: ForgeRepository, pull: _Pull) -> PullRequest:
    state = PullState.MERGED if pull.merged_at else PullState.CLOSED
    return PullRequest(
        pull.number,
        plain_line(pull.title),
        PullState.OPEN if pull.state == "open" else state,
        pull.draft,
        plain_line(pull.head.ref),
        plain_line(pull.base.ref),
        plain_line(pull.head.sha),
        plain_text(pull.body or ""),
        fork_of(at, None if pull.head.repo is None else pull.head.repo.full_name),
    )


def _run_state(run: _Run) -> CheckState:
    if run.status != "completed":
        return CheckState.PENDING
    if run.conclusion in _SKIPPED:
        return CheckState.SKIPPED
    return CheckState.PASSED if run.conclusion == "success" else CheckState.FAILED


def _state(state: str) -> CheckState:
    """Return the state that a commit's status stands for: error, failure, pending or success."""
    if state == "pending":
        return CheckState.PENDING
    return CheckState.PASSED if state == "success" else CheckState.FAILED


def _comment(kind: str, comment: _Comment) -> ForgeComment | None:
    """Return a comment; None for a review that says nothing itself, or is not sent yet."""
    at = comment.submitted_at or comment.created_at
    if at is None or not (comment.body or "").strip():
        return None
    return ForgeComment(
        f"{kind}-{comment.id}",
        plain_line(comment.user.login if comment.user else "") or "somebody",
        plain_text(comment.body or ""),
        at,
        None if comment.path is None else plain_line(comment.path, most=1000),
        comment.line,
    )
