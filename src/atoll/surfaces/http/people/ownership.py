"""Routes of ownership: to whom a sandbox belongs, and which wait for a new owner."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.contract import shown
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.sandboxes.view import sandbox_view
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.sandboxes import State

router = APIRouter(prefix="/v1", tags=["organizations"], route_class=JsonRoute)


class OwnerBody(Body):
    """The member whom a sandbox is given to, by id, name or email."""

    member: Annotated[str, Field(min_length=1, max_length=200, strict=True)]


class WaitingSandboxView(ResponseModel):
    """A sandbox whose owner is gone. `GET /v1/sandboxes/{sandbox}` shows it whole."""

    sandbox_id: str
    name: str
    state: State
    owner: str
    expires_at: str
    retained_until: str | None


class WaitingSandboxList(PageModel):
    """The sandboxes that wait for a new owner."""

    sandboxes: list[WaitingSandboxView]


@router.post(
    "/sandboxes/{sandbox}/owner",
    response_model=shown(SandboxView),
    responses=problems(404, 409, 413),
)
@needs(Capability.SANDBOX_MANAGE)
async def give_sandbox(atoll: Atoll, at: CallerSandbox, *, body: OwnerBody) -> Response:
    """Give the sandbox to another member, with its history. One that runs is stopped first. Links
    to it end, and secrets of its scope are removed; its files go along as they are."""
    return Json(await sandbox_view(atoll, await atoll.tenancy.ownership.give(*at, body.member)))


@router.get(
    "/organizations/{organization}/waiting-sandboxes",
    response_model=WaitingSandboxList,
    responses=problems(404, 409),
)
@needs(Capability.ORG_MANAGE)
async def list_waiting_sandboxes(
    atoll: Atoll, caller: Caller, *, organization: ItemId, page: Paged
) -> Response:
    """Return the sandboxes whose owner is gone. An administrator gives them to somebody, or
    destroys them."""
    found = await atoll.tenancy.ownership.waiting(caller, organization, page.rows())
    return Json(page.of_rows(found, name="sandboxes", view=_waiting))


def _waiting(sandbox: Sandbox) -> dict[str, Any]:
    return WaitingSandboxView.of(sandbox, sandbox_id=sandbox.id)
