"""Routes of syncs: newer commits of a person's branch, brought into a sandbox."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictBool, StrictInt
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.services.library.syncs import SyncAct, SyncOrder, SyncOutcome
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["sandboxes"], route_class=JsonRoute)


class SyncBody(Body):
    """The branch to rebase onto (by default the one the sandbox's branch began from). `abort` gives
    up a rebase that stopped, `look` changes nothing. With `agent`, the sandbox's agent is prompted
    to resolve a conflict. While an agent works, only `now` syncs."""

    repo: Annotated[StrictInt, Field(ge=0, le=15)] = 0
    onto: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    act: SyncAct = SyncAct.REBASE
    agent: StrictBool = False
    now: StrictBool = False


class SyncView(ResponseModel):
    """The result: HEAD is at `commit` after `commits` newer ones. `files` are in conflict; `more`
    counts those left out. With `stashed`, uncommitted changes did not fit and are in a stash."""

    outcome: SyncOutcome
    onto: str
    commit: str
    commits: int
    files: list[str]
    more: int
    stashed: bool
    agent: str | None


@router.post("/sync", response_model=SyncView, responses=problems(404, 409, 502))
@needs(Capability.FILE_WRITE)
async def sync_sandbox(atoll: Atoll, at: CallerSandbox, *, body: SyncBody) -> Response:
    """Bring newer commits into the sandbox and rebase its branch onto them."""
    order = SyncOrder(body.repo, body.onto, body.act, body.agent, body.now)
    return Json(SyncView.of(await atoll.syncs.sync(*at, order)))
