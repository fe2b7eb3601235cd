"""Routes of commits: list the history of a sandbox's repository, and show one commit."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.repository.commits import CommitRef
from atoll.domain.repository.diff import FileDiff
from atoll.services.library.commits import MAX_COMMITS, MAX_SKIPPED
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.sandboxes.changes import RepoNumber
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/commits", tags=["review"], route_class=JsonRoute)

_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 429, 502)
_ID = "[0-9a-f]{40}([0-9a-f]{24})?"


class CommitView(ResponseModel):
    """A commit: the first line of its message, and at most 16 parents."""

    commit: str
    parents: list[str]
    author: str
    email: str
    at: str
    subject: str


class CommitPage(ResponseModel):
    """Commits, children before their parents, and the newest branches and tags. `digest` changes
    when one of these moves: pages with another digest do not fit together."""

    branch: str | None
    head: str | None
    digest: str
    refs: list[CommitRef]
    commits: list[CommitView]
    next: str | None


class ShownCommitView(ResponseModel):
    """A commit with its message, and what it changes of its first parent; `truncated` when some of
    that is missing."""

    commit: CommitView
    message: str
    truncated: bool
    files: list[FileDiff]


@router.get("", response_model=CommitPage, responses=_FAILURES)
@needs(Capability.FILE_READ)
async def list_commits(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    repo: RepoNumber = 0,
    cursor: Annotated[
        str, Query(description="`next` of the page before.", pattern="^[0-9]{0,6}$")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_COMMITS)] = MAX_COMMITS,
) -> Response:
    """Return the commits of a repository's branches and tags, as git inside the sandbox reports
    them; at most 100,000 over all pages."""
    skip = int(cursor or "0")
    if skip > MAX_SKIPPED:
        raise Invalid(f"at most {MAX_SKIPPED} commits are listed", field="cursor")
    found = await atoll.review.commits.history(*at, repo=repo, skip=skip, limit=limit)
    end = skip + limit
    following = str(end) if found.more and end <= MAX_SKIPPED else None
    return Json(CommitPage.of(found, refs=found.refs, next=following))


@router.get("/{commit}", response_model=ShownCommitView, responses=_FAILURES)
@needs(Capability.FILE_READ)
async def show_commit(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    commit: Annotated[str, Path(description="Its whole id.", pattern=f"^{_ID}$")],
    repo: RepoNumber = 0,
) -> Response:
    """Return a commit, and at most 4 MiB of what it changes."""
    found = await atoll.review.commits.show(*at, commit, repo=repo)
    return Json(ShownCommitView.of(found, files=found.files))
