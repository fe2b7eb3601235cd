"""Routes of unpulled work: work that would be lost with a sandbox, and commits a person has
outside.
"""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictInt
from starlette.responses import Response

from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, Shown
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["sandboxes"], route_class=JsonRoute)

Commit = Annotated[str, Field(pattern="^[0-9a-f]{40}$", strict=True)]


class UnpulledPlaceView(Shown):
    """A repository with work nobody has outside, or with `repo` null the files beside all
    repositories. `more` counts the files that the lists leave out."""

    path: str
    repo: int | None
    branch: str | None
    commits: int
    tip: str | None
    subject: str
    stashes: int
    changed: list[str]
    untracked: list[str]
    more: int


class UnpulledView(Shown):
    """Every place with such work; none when nothing would be lost."""

    places: list[UnpulledPlaceView]


class PulledBody(Body):
    """Repository number `repo` is outside up to `commit`."""

    repo: Annotated[StrictInt, Field(ge=0, le=15)] = 0
    commit: Commit


@router.get("/unpulled", response_model=UnpulledView, responses=problems(404, 409, 502))
async def unpulled_work(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the work that is lost when the sandbox is destroyed: commits nobody pulled, stashes,
    changed and untracked files."""
    places = await atoll.unpulled.of(*at)
    return Json({"places": [UnpulledPlaceView.of(place) for place in places]})


@router.post("/pulled", status_code=204, responses=problems(404, 409))
async def mark_pulled(atoll: Atoll, at: CallerSandbox, *, body: PulledBody) -> Response:
    """Record that the caller has a commit outside: it no longer counts as unpulled."""
    await atoll.unpulled.pulled(*at, repo=body.repo, commit=body.commit)
    return Response(status_code=204)
