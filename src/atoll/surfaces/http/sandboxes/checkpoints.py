"""Routes of checkpoints: the files before each turn of an agent, and the way back to them."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.sandboxes.changes import RepoNumber
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.git.checkpoints import MAX_CHECKPOINTS

router = APIRouter(
    prefix="/v1/sandboxes/{sandbox}/checkpoints", tags=["review"], route_class=JsonRoute
)

Number = Annotated[int, Path(description="A checkpoint's number.", ge=1, le=999_999_999)]


class CheckpointView(ResponseModel):
    """A state of the files; `subject` names what followed it."""

    number: int
    commit: str
    at: str
    subject: str


class CheckpointList(ResponseModel):
    """The checkpoints of a repository, newest first."""

    checkpoints: list[CheckpointView]


class RestoredView(ResponseModel):
    """The number of the checkpoint that saves the files as they were until now."""

    saved: int


@router.get(
    "",
    response_model=CheckpointList,
    responses=problems(404, 409, 429, 502),
    openapi_extra=at_most(MAX_CHECKPOINTS),
)
@needs(Capability.FILE_READ)
async def list_checkpoints(atoll: Atoll, at: CallerSandbox, *, repo: RepoNumber = 0) -> Response:
    """Return the checkpoints of a repository, newest first, at most 50."""
    found = await atoll.review.checkpoints.list(*at, repo=repo)
    return Json({"checkpoints": [CheckpointView.of(one) for one in found]})


@router.post(
    "/{number}/restore", response_model=RestoredView, responses=problems(404, 409, 429, 502)
)
@needs(Capability.FILE_WRITE)
async def restore_checkpoint(
    atoll: Atoll, at: CallerSandbox, *, number: Number, repo: RepoNumber = 0
) -> Response:
    """Bring the files and the branch back to a checkpoint, after saving the present ones as
    another."""
    return Json({"saved": await atoll.review.checkpoints.restore(*at, number, repo=repo)})
