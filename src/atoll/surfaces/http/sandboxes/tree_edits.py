"""Routes that change a working tree for a person: discard a file or hunk, and commit."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictInt
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.repository.changes import Against
from atoll.services.library.changes import MAX_PATHS, Comparison
from atoll.services.library.tree_edits import MAX_MESSAGE_CHARS, HunkRange
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.sandboxes.checkpoints import RestoredView
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["review"], route_class=JsonRoute)

ChangedPath = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
Repo = Annotated[StrictInt, Field(ge=0, le=15)]
LineNumber = Annotated[StrictInt, Field(ge=0, le=999_999_999)]


class HunkBody(Body):
    """The numbers of a hunk's first line, and the context of the diff it was seen in."""

    old_start: LineNumber
    old_lines: LineNumber
    new_start: LineNumber
    new_lines: LineNumber
    context: Annotated[StrictInt, Field(ge=0, le=100_000)] = 3


class DiscardBody(Body):
    """A changed file, as `GET …/changes` showed it with `digest`; with `hunk` only that part."""

    path: ChangedPath
    digest: Annotated[str, Field(pattern="^[0-9a-f]{1,64}$", strict=True)]
    against: Against = Against.UNCOMMITTED
    checkpoint: Annotated[StrictInt, Field(ge=1, le=999_999_999)] | None = None
    repo: Repo = 0
    hunk: HunkBody | None = None


class CommitBody(Body):
    """A message, and the files to commit: all when none is named."""

    message: Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE_CHARS, strict=True)]
    paths: Annotated[list[ChangedPath], Field(max_length=MAX_PATHS)] | None = None
    repo: Repo = 0


class CommittedView(ResponseModel):
    """The new commit."""

    commit: str


@router.post(
    "/changes/discard", response_model=RestoredView, responses=problems(404, 409, 429, 502)
)
@needs(Capability.FILE_WRITE)
async def discard_changes(atoll: Atoll, at: CallerSandbox, *, body: DiscardBody) -> Response:
    """Undo the changes of one file, or one hunk of it, after saving the files as a checkpoint.

    `409` with code `changed` when the file is no longer as it was with `digest`.
    """
    compared = Comparison(body.repo, body.against, (body.path,), body.checkpoint)
    hunk = None if body.hunk is None else HunkRange(**body.hunk.model_dump())
    saved = await atoll.review.edits.discard(*at, compared, digest=body.digest, hunk=hunk)
    return Json({"saved": saved})


@router.post("/commit", response_model=CommittedView, responses=problems(404, 409, 429, 502))
@needs(Capability.FILE_WRITE)
async def commit_changes(atoll: Atoll, at: CallerSandbox, *, body: CommitBody) -> Response:
    """Commit what is not committed, in the sandbox and under its git identity; no hook runs.

    `409` with code `nothing_new` when there is nothing, `merging` in the middle of a merge.
    """
    paths = tuple(body.paths or ())
    commit = await atoll.review.edits.commit(*at, body.message, repo=body.repo, paths=paths)
    return Json({"commit": commit})
