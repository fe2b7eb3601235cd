"""Routes of the processes that programs left running in a sandbox: list and end them."""

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.contract import shown
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.contract.execs import LeftList, end_left_running, list_left_running

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/processes", tags=["exec"], route_class=JsonRoute)


@router.get(
    "",
    response_model=shown(LeftList),
    responses=problems(404, 409, 502),
    openapi_extra=at_most(200),
)
@needs(Capability.SANDBOX_READ)
async def list_processes(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the processes that commands and terminals left running when they ended, at most 200.

    The response also has the resources of the sandbox's runtime.
    """
    return Json(await atoll.runtime_calls.call(*at, list_left_running()))


@router.delete("", status_code=204, responses=problems(404, 409, 502))
@needs(Capability.SANDBOX_MANAGE)
async def end_processes(atoll: Atoll, at: CallerSandbox) -> Response:
    """Kill these processes. Running commands and terminals stay."""
    await atoll.runtime_calls.call(*at, end_left_running(), activity=True)
    return no_content()
