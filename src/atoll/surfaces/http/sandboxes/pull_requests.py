"""Routes of pull requests at the forge of a sandbox's repository, and of what a forge has.

The token stays here: a response holds none, and its addresses are made of the repository's own.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from pydantic import Field, StrictBool, StrictInt
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.repository.forge import (
    MAX_CHECKS,
    MAX_COMMENTS,
    MAX_PULLS,
    MAX_TEXT,
    MAX_TITLE,
    CheckState,
    PullState,
)
from atoll.services.forges.pull_requests import DiscussedPull, ForgePull, PullOffer
from atoll.surfaces.http.body.answers import Json, instant
from atoll.surfaces.http.body.fields import Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

MAX_NAMES: Final = 100
"""Branches and repositories of a forge in one answer."""

router = APIRouter(tags=["sandboxes"], route_class=JsonRoute)
_PLACE: Final = "/v1/sandboxes/{sandbox}"

Repo = Annotated[int, Query(description="Which repository, from 0.", ge=0, le=15)]
Branch = Annotated[
    str | None, Query(description="The branch; by default the sandbox's.", max_length=200)
]
Number = Annotated[int, Path(description="Its number at the forge.", ge=1, le=2**31)]
BranchName = Annotated[str, Field(min_length=1, max_length=200, strict=True)]


class PullRequestBody(Body):
    """A pull request of a branch (by default the one that is checked out) for `base` (by default
    the one that it began from). The branch is pushed first."""

    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE, strict=True)]
    text: Annotated[str, Field(max_length=MAX_TEXT, strict=True)] = ""
    repo: Annotated[StrictInt, Field(ge=0, le=15)] = 0
    branch: BranchName | None = None
    base: BranchName | None = None
    draft: StrictBool = False


class PullRequestView(ResponseModel):
    """A pull request. `commit` is the newest that the forge has of its branch; `existed` is false
    for one that this request opened."""

    number: int
    url: str
    title: str
    state: PullState
    draft: bool
    branch: str
    base: str
    commit: str
    existed: bool


class PullRequestList(ResponseModel):
    """The pull requests of a branch, newest first."""

    pull_requests: list[PullRequestView]


class CheckView(ResponseModel):
    """The result of a program over the commit."""

    name: str
    state: CheckState


class ForgeCommentView(ResponseModel):
    """A comment, as others wrote it; `path` and `line` for one on a line of the diff."""

    id: str
    author: str
    text: str
    at: str
    path: str | None
    line: int | None


class DiscussedPullView(PullRequestView):
    """A pull request with its checks by name, and its comments, oldest first."""

    checks: Annotated[list[CheckView], Field(max_length=MAX_CHECKS)]
    comments: Annotated[list[ForgeCommentView], Field(max_length=MAX_COMMENTS)]


class ForgeNames(ResponseModel):
    """Names of branches, or https addresses of repositories."""

    names: list[str]


@router.get(
    f"{_PLACE}/pull-requests",
    response_model=PullRequestList,
    responses=problems(403, 404, 409, 502),
    openapi_extra=at_most(MAX_PULLS),
)
@needs(Capability.REPOSITORY_READ)
async def list_pull_requests(
    atoll: Atoll, at: CallerSandbox, *, repo: Repo = 0, branch: Branch = None
) -> Response:
    """Return the pull requests of a branch, as the forge has them now."""
    found = await atoll.review.pull_requests.of(*at, repo=repo, branch=branch)
    return Json({"pull_requests": [_view(one) for one in found]})


@router.post(
    f"{_PLACE}/pull-requests",
    status_code=201,
    response_model=PullRequestView,
    responses=problems(403, 404, 409, 502),
)
@needs(Capability.REPOSITORY_WRITE)
async def open_pull_request(atoll: Atoll, at: CallerSandbox, *, body: PullRequestBody) -> Response:
    """Push the branch and open its pull request; one that is open already is returned."""
    offer = PullOffer(body.title, body.text, body.repo, body.branch, body.base, body.draft)
    return Json(_view(await atoll.review.pull_requests.open(*at, offer)), 201)


@router.get(
    f"{_PLACE}/pull-requests/{{number}}",
    response_model=DiscussedPullView,
    responses=problems(403, 404, 409, 502),
)
@needs(Capability.REPOSITORY_READ)
async def get_pull_request(
    atoll: Atoll, at: CallerSandbox, *, number: Number, repo: Repo = 0, branch: Branch = None
) -> Response:
    """Return a pull request of a branch with its checks and comments."""
    found = await atoll.review.pull_requests.one(*at, number, repo=repo, branch=branch)
    return Json(_discussed(found))


@router.get(
    f"{_PLACE}/forge-branches",
    response_model=ForgeNames,
    responses=problems(403, 404, 409, 502),
    openapi_extra=at_most(MAX_NAMES),
)
@needs(Capability.REPOSITORY_READ)
async def list_forge_branches(atoll: Atoll, at: CallerSandbox, *, repo: Repo = 0) -> Response:
    """Return branches of the repository at its forge, to which a pull request may lead."""
    return Json({"names": await atoll.review.pull_requests.branches(*at, repo=repo)})


@router.get(
    "/v1/forges/{secret}/repositories",
    response_model=ForgeNames,
    responses=problems(403, 404, 409, 502),
    openapi_extra=at_most(MAX_NAMES),
)
@needs(Capability.SANDBOX_CREATE)
async def list_forge_repositories(
    atoll: Atoll,
    caller: Caller,
    *,
    secret: Annotated[str, Path(description="A forge's secret, its id or name.", max_length=100)],
) -> Response:
    """Return addresses of repositories that a forge's token reaches, newest first."""
    return Json({"names": await atoll.review.pull_requests.repositories(caller, secret)})


def _view(found: ForgePull) -> dict[str, Any]:
    return PullRequestView.of(found.pull, url=found.url, existed=found.existed)


def _discussed(found: DiscussedPull) -> dict[str, Any]:
    comments = [ForgeCommentView.of(one, at=instant(one.at)) for one in found.comments]
    checks = [CheckView.of(one) for one in found.checks]
    return _view(found.shown) | {"checks": checks, "comments": comments}
