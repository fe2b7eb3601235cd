"""Routes of unpulled work: work that would be lost with a sandbox, and commits a person has
outside.
"""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictInt
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.services.library.unpulled import UnpulledPlace
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.sandboxes.pushes import PushView, push_views
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["sandboxes"], route_class=JsonRoute)

Commit = Annotated[str, Field(pattern="^[0-9a-f]{40}$", strict=True)]


class UnpulledView(ResponseModel):
    """Every place with such work; none when nothing would be lost. `pushes` are branches that were
    pushed inside and are held on the server; they stay there for their time."""

    places: list[UnpulledPlace]
    pushes: list[PushView]


class PulledBody(Body):
    """Repository number `repo` is outside up to `commit`."""

    repo: Annotated[StrictInt, Field(ge=0, le=15)] = 0
    commit: Commit


@router.get("/unpulled", response_model=UnpulledView, responses=problems(404, 409, 502))
@needs(Capability.REPOSITORY_READ)
async def unpulled_work(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the work that is lost when the sandbox is destroyed: commits nobody pulled, stashes,
    changed and untracked files. Pushes that are held for the owner are named, too."""
    held = push_views(await atoll.home.pushes.shown(*at))
    return Json({"places": await atoll.home.unpulled.of(*at), "pushes": held})


@router.post("/pulled", status_code=204, responses=problems(404, 409))
@needs(Capability.REPOSITORY_WRITE)
async def mark_pulled(atoll: Atoll, at: CallerSandbox, *, body: PulledBody) -> Response:
    """Record that the caller has a commit outside: it no longer counts as unpulled."""
    await atoll.home.unpulled.pulled(*at, repo=body.repo, commit=body.commit)
    return Response(status_code=204)
