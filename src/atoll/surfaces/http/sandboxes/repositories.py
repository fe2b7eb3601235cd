"""Routes of repositories: fetch a remote, receive an upload, return a sandbox's commits."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.repository.repository import read_local
from atoll.ports.repositories import Ref, StoredRepository
from atoll.services.library.workspaces import ALL_BRANCHES
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Address, Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute, bounded
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.body.streams import ForwardedStream
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1", tags=["repositories"], route_class=JsonRoute)

MAX_UPLOAD_BYTES = 16 * 1024 * 1024 * 1024
"""The bound on one request; the shelf's own cap is usually lower."""

BUNDLE = "application/x-git-bundle"

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_UPLOAD = {"requestBody": {"content": {BUNDLE: _BINARY}}}

LocalKey = Annotated[
    str, Path(description="16 to 64 hex digits the uploader chose.", min_length=1, max_length=64)
]
Commit = Annotated[str, Field(pattern="^[0-9a-f]{40}$", strict=True)]


class RepositoryView(ResponseModel):
    """A shared repository. `repo_url` is empty for an uploaded checkout without an origin."""

    key: str
    name: str
    repo_url: str
    bytes: int
    fetched_at: str


class RepositoryWithRefs(RepositoryView):
    """A shared repository and its refs; the branch HEAD stands for comes first."""

    refs: list[Ref]


class RepositoryList(PageModel):
    """The shared repositories, by key."""

    repositories: list[RepositoryView]


class FetchBody(Body):
    """The remote: `owner/repo`, or an https or ssh address."""

    repo_url: Address


class HaveBody(Body):
    """Commits the uploader has."""

    tips: Annotated[list[Commit], Field(max_length=512)]


class HaveView(ResponseModel):
    """The commits among them that the server already has."""

    have: list[str]


@router.get("/repositories", response_model=RepositoryList, responses=problems())
@needs(Capability.REPOSITORY_READ)
async def list_repositories(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return every shared repository."""
    found = await atoll.repositories.list(caller)
    return Json(
        page.of(found, name="repositories", key=lambda one: one.key, view=RepositoryView.of)
    )


@router.post("/repositories/fetch", response_model=RepositoryWithRefs, responses=problems(404, 502))
@needs(Capability.REPOSITORY_WRITE)
async def fetch_repository(atoll: Atoll, caller: Caller, *, body: FetchBody) -> Response:
    """Make or update the shared repository of a remote."""
    stored, refs = await atoll.repositories.fetch(caller, body.repo_url)
    return Json(_with_refs(stored, refs))


@router.get("/repositories/local/{key}", response_model=RepositoryWithRefs, responses=problems(404))
@needs(Capability.REPOSITORY_READ)
async def get_uploaded_repository(atoll: Atoll, caller: Caller, *, key: LocalKey) -> Response:
    """Return an uploaded checkout with its branches and tags."""
    return Json(_with_refs(*await atoll.repositories.get_uploaded(caller, key)))


@router.post("/repositories/local/{key}/have", response_model=HaveView, responses=problems())
@needs(Capability.REPOSITORY_READ)
async def have_commits(atoll: Atoll, caller: Caller, *, key: LocalKey, body: HaveBody) -> Response:
    """Return the commits that an upload may leave out."""
    return Json({"have": list(await atoll.repositories.have(caller, key, tuple(body.tips)))})


@router.put(
    "/repositories/local/{key}",
    response_model=RepositoryWithRefs,
    responses=problems(409, 413, 502),
    openapi_extra=_UPLOAD,
)
@needs(Capability.REPOSITORY_WRITE)
async def upload_repository(
    atoll: Atoll,
    caller: Caller,
    *,
    key: LocalKey,
    name: Annotated[str, Query(description="The folder's name.", max_length=64)],
    head: Annotated[str, Query(description="The branch HEAD is on.", max_length=200)],
    tip: Annotated[
        str, Query(description="Its commit; needed when the body is empty.", max_length=40)
    ] = "",
    repo_url: Annotated[
        str, Query(description="The checkout's own origin, as https.", max_length=500)
    ] = "",
    default: Annotated[
        bool, Query(description="Sandboxes that name no branch begin from `head` from now on.")
    ] = True,
    request: Request,
) -> Response:
    """Receive a checkout: a git bundle, or no body when the server already has `tip`."""
    source = read_local(key, name, repo_url)
    stored, refs = await atoll.repositories.receive(
        caller,
        source,
        head=Ref(head, tip),
        body=bounded(request, MAX_UPLOAD_BYTES),
        default=default,
    )
    return Json(_with_refs(stored, refs))


@router.get(
    "/sandboxes/{sandbox}/bundle",
    response_model=None,
    responses={
        200: {"description": "A git bundle of one branch.", "content": {BUNDLE: _BINARY}},
        **problems(404, 409, 413, 502),
    },
)
@needs(Capability.REPOSITORY_READ)
async def bundle_commits(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    repo: Annotated[int, Query(description="Which of its repositories.", ge=0, le=15)] = 0,
    branch: Annotated[
        str | None, Query(description="The sandbox's own when left out.", max_length=200)
    ] = None,
    every: Annotated[
        bool, Query(alias="all", description="Every branch with new commits.")
    ] = False,
    uncommitted: Annotated[
        bool, Query(description="With a commit of what is not committed on top.")
    ] = False,
) -> Response:
    """Return the commits of one branch, or with `all` of every one, that its shared repository
    lacks, checked.

    `409` with code `nothing_new` when there are none.
    """
    if every and branch is not None:
        raise Invalid("name one branch or take all, not both", field="branch")
    named = ALL_BRANCHES if every else branch
    opened = atoll.repositories.bundle(*at, number=repo, branch=named, uncommitted=uncommitted)
    saved = {"Content-Disposition": 'attachment; filename="commits.bundle"'}
    return ForwardedStream(opened, media_type=BUNDLE, headers=saved)


def _with_refs(stored: StoredRepository, refs: tuple[Ref, ...]) -> dict[str, Any]:
    return RepositoryWithRefs.of(stored, refs=refs)
