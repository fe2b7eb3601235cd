"""Routes of extensions: installed backends, their capabilities, and what `atoll doctor` finds."""

from dataclasses import replace
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.errors import AtollError
from atoll.domain.people.capability import Capability
from atoll.domain.secrets.secret import no_key
from atoll.ports.extension import Extension, Unloaded, Watched
from atoll.ports.host import Level
from atoll.surfaces.http.body.answers import Json, instant
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.route_body import HostCostView
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.walls import IsolationLevel

router = APIRouter(prefix="/v1/extensions", tags=["extensions"])


class LimitsView(ResponseModel):
    """The most that one sandbox may have; null is no limit."""

    cpu: float | None
    memory_mb: int | None
    workspace_mb: int | None


class CapabilitiesView(ResponseModel):
    """The capabilities of a backend; `abilities` are optional protocols such as `snapshot`. `gpus`
    are the kinds of GPU that a sandbox can have, `images` the kinds of image that it shows (`host`
    is the machine's own `/usr`). `doors`: broker and egress proxy are served. `host_kind` is null
    on a vendor's machines; `needs_key`: a secret of the kind `extension` pays for them."""

    isolation: IsolationLevel
    regions: list[str]
    gpu: bool
    gpus: list[str]
    persistence: bool
    pricing: str
    cost_per_hour: HostCostView | None
    latency_class: str
    abilities: list[str]
    images: list[str]
    closes_network: bool
    doors: bool
    limits: LimitsView
    host_kind: HostKind | None
    needs_key: bool


class ExtensionView(ResponseModel):
    """A backend; `reason` tells why it is not available, and `trouble` what is wrong with one that
    is."""

    name: str
    available: bool
    reason: str | None
    trouble: str | None
    capabilities: CapabilitiesView | None


class ExtensionList(ResponseModel):
    """Every backend, by name."""

    extensions: list[ExtensionView]


class FindingView(ResponseModel):
    """The result of one check of the server's machine: `warn` is a limit that sandboxes lack,
    `fail` means that none is safe. `fix` says what to do, empty when nothing is needed."""

    name: str
    level: Level
    text: str
    fix: str


class FindingList(ResponseModel):
    """All findings, most important first, and when they were made."""

    findings: list[FindingView]
    at: str


class StrayView(ResponseModel):
    """A machine of a vendor whose sandbox is gone, and when the vendor ends it by itself."""

    extension: str
    machine: str
    sandbox_id: str
    ends_at: str


class StrayList(ResponseModel):
    """At most 1,000 of `count` strays; `problems` says which vendors could not be asked."""

    strays: list[StrayView]
    count: int
    problems: list[str]


class ReapedView(ResponseModel):
    """The number of strays that were ended; `problems` has a sentence for each failure."""

    ended: int
    problems: list[str]


MAX_FINDINGS: Final = 200
MAX_STRAYS: Final = 1000


@router.get("", response_model=ExtensionList, responses=problems(), openapi_extra=at_most(64))
@needs(Capability.SANDBOX_READ)
async def list_extensions(atoll: Atoll, caller: Caller) -> Response:
    """Return the backends of this server."""
    # An extension may be registered under an alias as well: one entry each.
    found = {extension.name: extension for extension in atoll.backends.extensions.values()}
    shown = {name: _view(extension) for name, extension in found.items()}
    for view in shown.values():
        able = view["capabilities"]
        if able and able["needs_key"] and not await atoll.backends.keys.has(caller, view["name"]):
            view.update(available=False, reason=no_key(view["name"]))
    for one in atoll.backends.unloaded:
        # Another project's package may carry a name that is taken: both are shown.
        name = f"{one.name} of {one.package}" if one.name in shown else one.name
        shown[name] = _missing(replace(one, name=name))
    return Json({"extensions": [shown[name] for name in sorted(shown)]})


@router.get(
    "/findings",
    response_model=FindingList,
    responses=problems(503),
    openapi_extra=at_most(MAX_FINDINGS),
)
@needs(Capability.SYSTEM_MANAGE)
async def list_findings(atoll: Atoll, caller: Caller) -> Response:
    """Return what `atoll doctor` finds on the server's machine, at most half a minute old."""
    del caller
    found, at = await atoll.overview.machine.findings()
    views = [FindingView.of(one) for one in found[:MAX_FINDINGS]]
    return Json({"findings": views, "at": instant(at)})


@router.get(
    "/strays",
    response_model=StrayList,
    responses=problems(503),
    openapi_extra=at_most(MAX_STRAYS),
)
@needs(Capability.SYSTEM_MANAGE)
async def list_strays(atoll: Atoll, caller: Caller) -> Response:
    """Return the machines that are rented for sandboxes which are gone."""
    del caller
    found = await atoll.backends.strays.listed()
    views = [StrayView.of(place, extension=name, machine=place.id) for name, place in found.strays]
    return Json({"strays": views, "count": found.count, "problems": list(found.problems)})


@router.post("/strays/end", response_model=ReapedView, responses=problems(503))
@needs(Capability.SYSTEM_MANAGE)
async def end_strays(atoll: Atoll, caller: Caller) -> Response:
    """End the machines that are rented for sandboxes which are gone."""
    del caller
    done = await atoll.backends.strays.end()
    return Json({"ended": done.ended, "problems": list(done.problems)})


def _missing(one: Unloaded) -> dict[str, Any]:
    reason = f"{one.package}: {one.reason}" if one.package else one.reason
    return ExtensionView.of(one, available=False, reason=reason, trouble=None, capabilities=None)


def _view(extension: Extension) -> dict[str, Any]:
    able, reason = None, None
    try:
        able = extension.capabilities()
    except AtollError as error:
        reason = error.message
    shown = able and CapabilitiesView.of(
        able,
        abilities=sorted(able.abilities),
        gpu=bool(able.gpus),
        gpus=sorted(able.gpus),
        images=sorted(able.images),
    )
    trouble = extension.trouble if isinstance(extension, Watched) else None
    return ExtensionView.of(
        extension,
        available=able is not None,
        reason=reason,
        trouble=trouble,
        capabilities=shown,
    )
