"""Routes of oversight: every sandbox of an organization, and how administrators end one."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.profile.profile import Scope
from atoll.domain.sandbox.sandbox import Sandbox, State
from atoll.ports.store.overview.sandboxes import OverviewQuery, SortKey
from atoll.services.overview.oversight import Overseen
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ItemId, ResponseModel, Waiting
from atoll.surfaces.http.sandboxes.sandboxes import Unpulled
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/organizations/{organization}/sandboxes", tags=["overview"])

installation = APIRouter(prefix="/v1/running", tags=["overview"])

MAX_OFFSET = 1_000_000


class DoorCountsView(ResponseModel):
    """Counts of what passed the doors: `bytes_in` went from sandboxes into the network, `bytes_out`
    came back. Tokens are those of model providers, partly estimated."""

    requests: int
    refused: int
    bytes_in: int
    bytes_out: int
    tokens_in: int
    tokens_out: int


class OverseenView(ResponseModel):
    """A sandbox as administrators see it. `agents` are there, `working` are at work, `waiting` need
    their person; `counts` are of its whole life."""

    sandbox_id: str
    name: str
    state: State
    reason: str | None
    owner: str
    scope: Scope
    profile: str
    created_at: str
    last_used_at: str | None
    expires_at: str
    retained_until: str | None
    agents: int
    working: int
    waiting: int
    counts: DoorCountsView


class OverseenPageView(ResponseModel):
    """A page. `total` sandboxes are on all pages, `tally` counts all that fit the other filters by
    state, and `next` is the following `offset`, null on the last page."""

    sandboxes: list[OverseenView]
    total: int
    tally: dict[State, int]
    next: int | None


_ACT: dict[str, Any] = {
    "response_model": OverseenView,
    "responses": problems(404, 409),
    "status_code": 202,
}


@router.get("", response_model=OverseenPageView, responses=problems(404))
@needs(Capability.ORG_MANAGE)
async def oversee_sandboxes(
    atoll: Atoll,
    caller: Caller,
    *,
    organization: ItemId,
    state: Annotated[list[State], Query(description="Only these states.", max_length=9)] = [],  # noqa: B006 - FastAPI copies it
    owner: Annotated[str | None, Query(description="Only this member's.", max_length=200)] = None,
    q: Annotated[str, Query(description="A part of the name.", max_length=200)] = "",
    sort: Annotated[SortKey, Query(description="The column.")] = SortKey.CREATED,
    descending: Annotated[bool, Query(description="Highest or newest first.")] = True,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Return the sandboxes of an organization, whoever owns them. Their files, terminals and tasks
    stay their owners'."""
    query = OverviewQuery(
        OrgId(organization),
        tuple(state),
        None if owner is None else PrincipalId(owner),
        q.strip(),
        sort,
        descending,
        offset,
        limit,
    )
    found = await atoll.overview.oversight.page(caller, organization, query)
    following = offset + len(found.sandboxes)
    return Json(
        {
            "sandboxes": [_view(one) for one in found.sandboxes],
            "total": found.total,
            "tally": found.tally,
            "next": following if found.sandboxes and following < found.total else None,
        }
    )


@router.post("/{sandbox}/stop", **_ACT)
@needs(Capability.ORG_MANAGE)
async def stop_overseen(
    atoll: Atoll, caller: Caller, *, organization: ItemId, sandbox: ItemId, wait: Waiting
) -> Response:
    """End the sandbox's processes and keep its files: its owner can start it again. `?wait=true`
    waits for the end."""
    stopped = await atoll.overview.oversight.stop(
        caller, organization, sandbox, wait_seconds=wait.seconds
    )
    return Json(_view(stopped), 202)


@router.post("/{sandbox}/destroy", **_ACT)
@needs(Capability.ORG_MANAGE)
async def destroy_overseen(
    atoll: Atoll,
    caller: Caller,
    *,
    organization: ItemId,
    sandbox: ItemId,
    unpulled: Unpulled = None,
) -> Response:
    """Destroy the sandbox permanently, with all that nobody pulled from it.

    With `unpulled=refuse` nothing is destroyed while it holds such work.
    """
    oversight = atoll.overview.oversight
    if unpulled == "refuse":
        await oversight.check_lost(caller, organization, sandbox)
    return Json(_view(await oversight.destroy(caller, organization, sandbox)), 202)


class RunningView(ResponseModel):
    """A sandbox that runs, or is being made, of whatever organization."""

    sandbox_id: str
    name: str
    state: State
    reason: str | None
    owner: str
    org_id: str


class RunningList(ResponseModel):
    """Sandboxes that run on the installation."""

    sandboxes: list[RunningView]


@installation.get("", response_model=RunningList)
@needs(Capability.SYSTEM_MANAGE)
async def list_running(atoll: Atoll, caller: Caller) -> Response:
    """Return every sandbox of the installation that runs or is being made, whoever owns it."""
    del caller
    found = await atoll.overview.oversight.list_running()
    return Json({"sandboxes": [_running_view(one) for one in found]})


@installation.post(
    "/{sandbox}/stop", response_model=RunningView, responses=problems(404, 409), status_code=202
)
@needs(Capability.SYSTEM_MANAGE)
async def stop_running(atoll: Atoll, caller: Caller, *, sandbox: ItemId, wait: Waiting) -> Response:
    """Stop a sandbox of the installation, whoever owns it, as `atoll down` does: one that is being
    made once it is ready. `?wait=true` waits for the end."""
    halted = await atoll.overview.oversight.halt(caller, sandbox, wait_seconds=wait.seconds or 0)
    return Json(_running_view(halted), 202)


def _running_view(one: Sandbox) -> dict[str, Any]:
    return RunningView.of(one, sandbox_id=one.id)


def _view(one: Overseen) -> dict[str, Any]:
    statuses = [agent.status.status for agent in one.agents]
    return OverseenView.of(
        one.sandbox,
        sandbox_id=one.sandbox.id,
        profile=one.sandbox.profile.id,
        agents=sum(status != "stopped" for status in statuses),
        working=statuses.count("working"),
        waiting=statuses.count("needs_you"),
        counts=DoorCountsView.of(one.counts),
    )
