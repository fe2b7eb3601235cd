"""The route of the search over names and texts."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from atoll.domain.overview.search import MAX_QUERY, HitKind
from atoll.domain.people.capability import Capability
from atoll.services.overview.search import MAX_HITS
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/search", tags=["overview"])


class HitView(ResponseModel):
    """A found thing. `text` is what is around the words, where they are not in the name alone.
    `sandbox_id` is the sandbox it belongs to, null for what belongs to none."""

    kind: HitKind
    id: str
    title: str
    text: str
    sandbox_id: str | None
    at: str | None


class HitList(ResponseModel):
    """The best hits first; `complete` says that there are no more."""

    hits: list[HitView]
    complete: bool


@router.get("", response_model=HitList, responses=problems())
@needs(Capability.SANDBOX_READ)
async def search(
    atoll: Atoll,
    caller: Caller,
    *,
    q: Annotated[str, Query(description="The words; a hit has all.", max_length=MAX_QUERY)],
    kind: Annotated[list[HitKind], Query(description="Only these kinds.", max_length=8)] = [],  # noqa: B006 - FastAPI copies it
    limit: Annotated[int, Query(ge=1, le=MAX_HITS)] = 20,
) -> Response:
    """Search the names and texts of what the caller may see: sandboxes, tasks, branches,
    dashboards, secrets' names, members, profiles, and the reasons of events. Of each, the newest
    2000 are looked at."""
    hits, complete = await atoll.overview.search.find(caller, q, kinds=frozenset(kind), limit=limit)
    return Json({"hits": [HitView.of(one) for one in hits], "complete": complete})
