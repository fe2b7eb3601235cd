"""Routes of previews: create, list, rebuild, link to and tear down one."""

from starlette.requests import Request

from atoll.domain.previews.preview import Preview, PreviewRequest
from atoll.domain.previews.visit import PortAddress
from atoll.surfaces.http.previews.origins import PreviewOrigins
from atoll.surfaces.http.previews.ports import link_view
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import previews as api
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.previews import Previews

operations = Operations()


@operations.serves(Previews.create)
async def create_preview(
    context: RequestContext, sandbox: str, body: api.PreviewBody
) -> api.PreviewView:
    request = PreviewRequest(body.app, body.port, body.pr_number, body.sha)
    made = await context.atoll.previews.previews.create(context.caller, sandbox, request)
    return _view(context.request, made)


@operations.serves(Previews.list)
async def list_previews(
    context: RequestContext, sandbox: str, *, page: Paging = FIRST_PAGE
) -> api.PreviewPage:
    asked = context.page(page)
    rows = await context.atoll.previews.previews.list(context.caller, sandbox, asked.rows())
    previews, following = asked.rows_and_next(rows, lambda one: _view(context.request, one))
    return api.PreviewPage(previews=previews, next=following)


@operations.serves(Previews.get)
async def get_preview(context: RequestContext, sandbox: str, preview: str) -> api.PreviewView:
    shown = await context.atoll.previews.previews.get(context.caller, sandbox, preview)
    return _view(context.request, shown)


@operations.serves(Previews.log)
async def read_preview_log(
    context: RequestContext, sandbox: str, preview: str
) -> api.PreviewLogView:
    text = await context.atoll.previews.previews.log(context.caller, sandbox, preview)
    return api.PreviewLogView(text=text)


@operations.serves(Previews.rebuild)
async def rebuild_preview(context: RequestContext, sandbox: str, preview: str) -> api.PreviewView:
    rebuilt = await context.atoll.previews.previews.rebuild(context.caller, sandbox, preview)
    return _view(context.request, rebuilt)


@operations.serves(Previews.link)
async def make_preview_link(
    context: RequestContext, sandbox: str, preview: str, body: api.LinkBody
) -> api.LinkView:
    found = await context.atoll.sandboxes.get(context.caller, sandbox)
    shown = await context.atoll.previews.previews.living(context.caller, sandbox, preview)
    address = PortAddress(shown.port, shown.label, body.path, shown.id)
    ticket, secret = await context.atoll.previews.visits.link(
        context.caller,
        found,
        address,
        seconds=int(body.ttl),
        session=context.request.state.session,
    )
    return link_view(context.request, ticket, secret)


@operations.serves(Previews.tear_down)
async def tear_down_preview(context: RequestContext, sandbox: str, preview: str) -> api.PreviewView:
    gone = await context.atoll.previews.previews.tear_down(context.caller, sandbox, preview)
    return _view(context.request, gone)


def _view(request: Request, preview: Preview) -> api.PreviewView:
    origins: PreviewOrigins = request.app.state.origins.for_request(request.scope)
    return answer_of(
        api.PreviewView, preview, preview_id=preview.id, url=origins.origin(preview.label)
    )
