"""The route of usage over time."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from atoll.domain.overview.usage import MAX_POINTS
from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, instant
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/organizations", tags=["overview"])


class StandingView(ResponseModel):
    """The numbers of now, or the highest of a time: of running sandboxes, agents in them, those at
    work, and open terminals and machine agents."""

    sandboxes: int
    agents: int
    working: int
    sessions: int


class DoorCountsView(ResponseModel):
    """Counts of what passed the doors: `bytes_in` went from sandboxes into the network, `bytes_out`
    came back. Tokens are those of model providers, partly estimated."""

    requests: int
    refused: int
    bytes_in: int
    bytes_out: int
    tokens_in: int
    tokens_out: int


class UsagePointView(ResponseModel):
    """The usage from `at` on, for the width of a bucket. `standing` is null where no control plane
    was at work."""

    at: str
    standing: StandingView | None
    counts: DoorCountsView


class UsageView(ResponseModel):
    """A series without holes, oldest first, with the highest standing and the sums of it all, and
    what there is now."""

    begin: str
    end: str
    bucket_seconds: int
    points: list[UsagePointView]
    highest: StandingView
    counts: DoorCountsView
    now: StandingView


@router.get(
    "/{organization}/usage",
    response_model=UsageView,
    responses=problems(404),
    openapi_extra=at_most(MAX_POINTS),
)
@needs(Capability.ORG_MANAGE)
async def read_usage(
    atoll: Atoll,
    caller: Caller,
    *,
    organization: ItemId,
    hours: Annotated[int, Query(description="How far back; 48 for `5m`.", ge=1, le=2208)] = 24,
    bucket: Annotated[Literal["5m", "1h", "1d"], Query(description="The width.")] = "1h",
) -> Response:
    """Return the usage of an organization over time, sampled once a minute."""
    found = await atoll.overview.usage.series(caller, organization, hours=hours, bucket=bucket)
    return Json(
        UsageView.of(
            found,
            begin=instant(found.span.begin),
            end=instant(found.span.end),
            bucket_seconds=int(found.span.width.total_seconds()),
        )
    )
