"""Routes of previews: create, list, rebuild, link to and tear down one."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.preview.origin import MAX_APP, MAX_NUMBER
from atoll.domain.preview.preview import Preview, PreviewRequest, PreviewState
from atoll.domain.preview.visit import PortAddress
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.previews.origins import PreviewOrigins
from atoll.surfaces.http.previews.ports import LinkBody, LinkView, link_view
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(
    prefix="/v1/sandboxes/{sandbox}/previews", tags=["previews"], route_class=JsonRoute
)


class PreviewBody(Body):
    """A preview to make: the name of the app, and the port at which its server will listen. With
    `pr_number` its name is `pr-{number}.{app}`. `sha` is the commit that it shows, for readers."""

    app: Annotated[str, Field(min_length=1, max_length=MAX_APP, strict=True)]
    port: Annotated[int, Field(ge=1, le=65535, strict=True)]
    pr_number: Annotated[int, Field(ge=1, le=MAX_NUMBER, strict=True)] | None = None
    sha: Annotated[str, Field(pattern="^[0-9a-f]{7,64}$", strict=True)] | None = None


class PreviewView(ResponseModel):
    """A preview. `url` is its origin, which opens for who came by a link. `terminal_id` is the
    terminal of the set-up that built it, `reason` says why that failed."""

    preview_id: str
    sandbox_id: str
    app: str
    port: int
    pr_number: int | None
    sha: str | None
    state: PreviewState
    reason: str | None
    terminal_id: str | None
    url: str
    created_at: str
    updated_at: str


class PreviewPage(PageModel):
    """A page of previews, newest first."""

    previews: list[PreviewView]


class PreviewLogView(ResponseModel):
    """The output of the set-up that built a preview, as far as it is still kept."""

    text: str


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)


@router.post("", status_code=201, response_model=PreviewView, responses=_FAILURES)
@needs(Capability.SANDBOX_MANAGE)
async def create_preview(
    atoll: Atoll, at: CallerSandbox, *, body: PreviewBody, request: Request
) -> Response:
    """Make a preview and begin to build it: the approved set-up of the project runs, unless it
    has."""
    asked = PreviewRequest(body.app, body.port, body.pr_number, body.sha)
    return Json(_view(request, await atoll.previews.previews.create(*at, asked)), 201)


@router.get("", response_model=PreviewPage, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def list_previews(
    atoll: Atoll, at: CallerSandbox, *, page: Paged, request: Request
) -> Response:
    """Return the sandbox's previews, those that are gone included."""
    found = await atoll.previews.previews.list(*at, page.rows())
    return Json(page.of_rows(found, name="previews", view=lambda one: _view(request, one)))


@router.get("/{preview}", response_model=PreviewView, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def get_preview(
    atoll: Atoll, at: CallerSandbox, *, preview: ItemId, request: Request
) -> Response:
    """Return one preview."""
    return Json(_view(request, await atoll.previews.previews.get(*at, preview)))


@router.get("/{preview}/log", response_model=PreviewLogView, responses=_FAILURES)
@needs(Capability.TERMINAL_WATCH)
async def read_preview_log(atoll: Atoll, at: CallerSandbox, *, preview: ItemId) -> Response:
    """Return the output of its set-up."""
    return Json({"text": await atoll.previews.previews.log(*at, preview)})


@router.post("/{preview}/rebuild", response_model=PreviewView, responses=_FAILURES)
@needs(Capability.SANDBOX_MANAGE)
async def rebuild_preview(
    atoll: Atoll, at: CallerSandbox, *, preview: ItemId, request: Request
) -> Response:
    """Run the set-up again."""
    return Json(_view(request, await atoll.previews.previews.rebuild(*at, preview)))


@router.post("/{preview}/links", status_code=201, response_model=LinkView, responses=_FAILURES)
@needs(Capability.EXEC_USE)
async def make_preview_link(
    atoll: Atoll, at: CallerSandbox, *, preview: ItemId, body: LinkBody, request: Request
) -> Response:
    """Make a link that opens the preview in one browser."""
    sandbox = await atoll.sandboxes.get(*at)
    shown = await atoll.previews.previews.living(*at, preview)
    address = PortAddress(shown.port, shown.label, body.path, shown.id)
    ticket, secret = await atoll.previews.visits.link(
        at[0], sandbox, address, seconds=int(body.ttl), session=request.state.session
    )
    return Json(link_view(request, ticket, secret), 201)


@router.delete("/{preview}", response_model=PreviewView, responses=problems(404))
@needs(Capability.SANDBOX_MANAGE)
async def tear_down_preview(
    atoll: Atoll, at: CallerSandbox, *, preview: ItemId, request: Request
) -> Response:
    """Tear a preview down: its links and open connections end within 5 seconds."""
    return Json(_view(request, await atoll.previews.previews.tear_down(*at, preview)))


def _view(request: Request, preview: Preview) -> dict[str, Any]:
    origins: PreviewOrigins = request.app.state.origins.for_request(request.scope)
    return PreviewView.of(preview, preview_id=preview.id, url=origins.origin(preview.label))
