"""Routes of changes: list the files that differ in a sandbox, and return their diff."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.repository.changes import Against, ChangedFile, Changes
from atoll.domain.repository.diff import FileDiff
from atoll.services.library.changes import MAX_PATHS, MAX_WAIT_SECONDS, Comparison, DiffStyle
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["review"], route_class=JsonRoute)

_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 429, 502)

RepoNumber = Annotated[int, Query(description="Which of its repositories.", ge=0, le=15)]
Compared = Annotated[
    Against,
    Query(
        description="`base` is the commit its branch began from, `turn` the files before the last "
        "turn of an agent, `uncommitted` HEAD."
    ),
]
CheckpointNumber = Annotated[
    int | None,
    Query(description="With `turn`, the turn that began at this checkpoint.", ge=1, le=999_999_999),
]
Paths = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=4096)]] | None,
    Query(
        alias="path",
        description="Only this file or folder, relative to the repository; may be repeated.",
        max_length=MAX_PATHS,
    ),
]


class TreeChangesView(ResponseModel):
    """Changes of a repository: the first files of `total`. `commits` counts what HEAD has beyond
    `base`."""

    branch: str | None
    head: str | None
    base: str | None
    commits: int
    additions: int
    deletions: int
    total: int
    digest: str
    files: list[ChangedFile]


class DiffView(ResponseModel):
    """Changes line by line; `truncated` when some are missing."""

    truncated: bool
    files: list[FileDiff]


@router.get("/changes", response_model=TreeChangesView, responses=_FAILURES)
@needs(Capability.FILE_READ)
async def list_changes(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    repo: RepoNumber = 0,
    against: Compared = Against.BASE,
    path: Paths = None,
    checkpoint: CheckpointNumber = None,
    since: Annotated[
        str, Query(description="The digest that is known.", pattern="^[0-9a-f]{0,64}$")
    ] = "",
    wait: Annotated[
        int,
        Query(
            description="Seconds to wait while the digest is `since`.", ge=0, le=MAX_WAIT_SECONDS
        ),
    ] = 0,
) -> Response:
    """Return the files that differ, at most 5,000 of them, as git inside the sandbox reports them.

    With `since` and `wait` the response comes once something changed, or after the wait.
    """
    wanted = Comparison(repo, against, tuple(path or ()), checkpoint)
    found = await atoll.review.changes.changes(*at, wanted, since=since, wait_seconds=wait)
    return Json(changes_view(found))


@router.get("/diff", response_model=DiffView, responses=_FAILURES)
@needs(Capability.FILE_READ)
async def get_diff(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    repo: RepoNumber = 0,
    against: Compared = Against.BASE,
    path: Paths = None,
    checkpoint: CheckpointNumber = None,
    context: Annotated[int, Query(description="Unchanged lines around.", ge=0, le=100_000)] = 3,
    whitespace: Annotated[
        bool, Query(description="False leaves out changes of blanks alone.")
    ] = True,
) -> Response:
    """Return the changes line by line, at most 4 MiB of them, as git inside the sandbox computes
    them."""
    wanted = Comparison(repo, against, tuple(path or ()), checkpoint)
    found = await atoll.review.changes.diff(*at, wanted, DiffStyle(context, whitespace))
    return Json({"truncated": found.truncated, "files": found.files})


@router.get(
    "/changes/image",
    response_class=Response,
    responses={
        200: {
            "description": "The image.",
            "content": {
                kind: {"schema": {"type": "string", "format": "binary"}} for kind in IMAGE_TYPES
            },
        },
        **_FAILURES,
    },
)
@needs(Capability.FILE_READ)
async def get_image(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    path: Annotated[str, Query(description="The file.", min_length=1, max_length=4096)],
    repo: RepoNumber = 0,
    commit: Annotated[
        str,
        Query(
            description="The commit to take it from; the working tree by default.",
            pattern="^([0-9a-f]{40,64})?$",
        ),
    ] = "",
) -> Response:
    """Return one side of a changed image: PNG, JPEG, GIF or WebP by its bytes, at most 4 MiB and
    50 megapixels. Anything else, SVG among it, is `422`."""
    raster, data = await atoll.review.changes.image(*at, Comparison(repo, paths=(path,)), commit)
    return Response(data, media_type=raster.media_type)


def changes_view(found: Changes) -> dict[str, Any]:
    """Return changes as the API shows them."""
    return TreeChangesView.of(found)
