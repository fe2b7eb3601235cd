"""The route of a sandbox's tools: what agents inside have of them, and why not the rest."""

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.tool.offer import REASONS, ToolMissing, ToolOffer
from atoll.domain.tool.rule import ToolRule
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/tools", tags=["agents"], route_class=JsonRoute)

MAX_TOOLS = 1000


class SandboxToolView(ResponseModel):
    """A tool. `rule` is what happens when an agent inside calls it. `missing` says by a word why it
    does not have it, and `reason` by a sentence; both are null for a tool that it has."""

    name: str
    permission: str
    rule: ToolRule
    missing: ToolMissing | None
    reason: str | None


class SandboxToolsView(ResponseModel):
    """The tools of this installation, as far as a sandbox has them, by name."""

    tools: list[SandboxToolView]


@router.get(
    "",
    response_model=SandboxToolsView,
    responses=problems(404),
    openapi_extra=at_most(MAX_TOOLS),
)
@needs(Capability.SANDBOX_READ)
async def list_tools(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return every tool, and what agents inside this sandbox have of it."""
    found = await atoll.tools.lists.of(*at)
    return Json({"tools": [_view(one) for one in found]})


def _view(offer: ToolOffer) -> dict[str, object]:
    missing = offer.missing
    return {
        "name": offer.tool.name,
        "permission": offer.tool.permission,
        "rule": offer.rule,
        "missing": missing,
        "reason": None if missing is None else REASONS[missing],
    }
