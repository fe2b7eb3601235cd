"""Routes of extensions: the installed backends, and their capabilities."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.errors import AtollError
from atoll.domain.people.capability import Capability
from atoll.domain.wall.isolation import IsolationLevel
from atoll.ports.extension import Extension
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/extensions", tags=["extensions"])


class CapabilitiesView(ResponseModel):
    """The capabilities of a backend; `abilities` are optional protocols such as `snapshot`."""

    isolation: IsolationLevel
    regions: list[str]
    gpu: bool
    persistence: bool
    pricing: str
    abilities: list[str]


class ExtensionView(ResponseModel):
    """A backend; `reason` tells why it is not available."""

    name: str
    available: bool
    reason: str | None
    capabilities: CapabilitiesView | None


class ExtensionList(ResponseModel):
    """Every backend, by name."""

    extensions: list[ExtensionView]


@router.get("", response_model=ExtensionList, responses=problems(), openapi_extra=at_most(64))
@needs(Capability.SANDBOX_READ)
async def list_extensions(atoll: Atoll, caller: Caller) -> Response:
    """Return the backends of this server."""
    del caller
    # An extension may be registered under an alias as well: one entry each.
    found = {extension.name: extension for extension in atoll.extensions.values()}
    return Json({"extensions": [_view(found[name]) for name in sorted(found)]})


def _view(extension: Extension) -> dict[str, Any]:
    able, reason = None, None
    try:
        able = extension.capabilities()
    except AtollError as error:
        reason = error.message
    shown = able and CapabilitiesView.of(able, abilities=sorted(able.abilities))
    return ExtensionView.of(
        extension, available=able is not None, reason=reason, capabilities=shown
    )
