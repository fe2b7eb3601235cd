"""Routes of share links: make, list and revoke one, and enter by one as a guest.

The link's secret stands in the fragment of the link, which browsers never send, log or pass on. The
page takes it from there and sends it in a body, once.
"""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.ids import RecordingId, TerminalId
from atoll.domain.people.share import Guest, Share, ShareRequest
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.contract import shown
from atoll.surfaces.http.body.fields import Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.people.cookies import set_cookie
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.people.me import entered_view
from atoll.surfaces.http.server.context import Atoll
from atoll.surfaces.http.server.credentials import GUEST_COOKIE, cookie_of, page_keys
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import shares as api
from atoll.wire.api.people.me import EnteredView
from atoll.wire.api.people.shares import Shares
from atoll.wire.words.people import MAX_NAME
from atoll.wire.words.terminals import Role

operations = Operations()
entrance = APIRouter(prefix="/auth", tags=["auth"], route_class=JsonRoute)


class InvitationBody(Body):
    """The secret of a link."""

    ticket: Annotated[str, Field(min_length=1, max_length=200, strict=True)]


class InvitationView(ResponseModel):
    """Offer of a link: by whom, to which sandbox, to one terminal of it or to all, and to watch
    (`viewer`) or to ask to type, too (`controller`); or to one recording; or to look at the
    dashboard `dashboard_name`. `inviter` is empty for who chose no name."""

    inviter: str
    sandbox_name: str | None
    dashboard_name: str | None
    terminal_id: str | None
    recording_id: str | None
    role: Role
    expires_at: str


class GuestBody(Body):
    """The secret of a link, and the name that its visitor chose."""

    ticket: Annotated[str, Field(min_length=1, max_length=200, strict=True)]
    name: Annotated[str, Field(max_length=MAX_NAME, strict=True)] | None = None


@operations.serves(Shares.create)
async def make_share(context: RequestContext, sandbox: str, body: api.ShareBody) -> api.MadeView:
    atoll, caller = context.atoll, context.caller
    terminal_id = None
    if body.terminal_id is not None:
        terminal_id = TerminalId(body.terminal_id)
        await atoll.terminals.get(caller, sandbox, terminal_id)
    recording_id = None
    if body.recording_id is not None:
        recording_id = RecordingId(body.recording_id)
        await atoll.terminals.check_recording(caller, sandbox, recording_id)
    wanted = ShareRequest(terminal_id, body.role, int(body.ttl), body.name or "", recording_id)
    share, secret = await atoll.shares.create(caller, sandbox, wanted)
    link = outside_link(context.request, f"share={secret}")
    return answer_of(
        api.MadeView,
        share,
        share_id=share.id,
        guests=0,
        guest_names=[],
        link=link.url,
        local_only=link.local_only,
    )


@operations.serves(Shares.list)
async def list_shares(context: RequestContext, sandbox: str) -> api.ShareList:
    found = await context.atoll.shares.list(context.caller, sandbox)
    return api.ShareList(shares=[_view(share, guests) for share, guests in found])


@operations.serves(Shares.revoke)
async def revoke_share(context: RequestContext, sandbox: str, share: str) -> None:
    await context.atoll.shares.revoke(context.caller, sandbox, share)


@entrance.post("/invitations", response_model=InvitationView, responses=problems(409, 413))
async def read_invitation(atoll: Atoll, request: Request, body: InvitationBody) -> Response:
    """Return what a link offers, without opening it."""
    source = source_of(request.scope)
    found = await atoll.shares.invitation(body.ticket, source=source)
    view = InvitationView.of(
        found.share,
        inviter=found.inviter,
        sandbox_name=None if found.sandbox is None else found.sandbox.name,
        dashboard_name=None if found.dashboard is None else found.dashboard.name,
    )
    return Json(view)


@entrance.post(
    "/guests", status_code=201, response_model=shown(EnteredView), responses=problems(409, 413)
)
async def come_in(atoll: Atoll, request: Request, body: GuestBody) -> Response:
    """Trade the secret of a share link for the cookie `atoll_guest`; answers like `/auth/login`. A
    page that came by it before stays the same guest."""
    source = source_of(request.scope)
    before = cookie_of(request, GUEST_COOKIE)
    if before is not None and not atoll.logins.from_page(before, page_keys(request)):
        before = None
    entered = await atoll.shares.enter(body.ticket, body.name, source=source, session=before)
    answer = Json(await entered_view(atoll, entered.guest, entered.session), 201)
    access = entered.guest.guest_access
    if access is not None:
        set_cookie(request, answer, (GUEST_COOKIE, entered.session), until=access.expires_at)
    return answer


def _view(share: Share, guests: tuple[Guest, ...]) -> api.ShareView:
    names = [guest.name for guest in guests]
    return answer_of(api.ShareView, share, share_id=share.id, guests=len(guests), guest_names=names)
