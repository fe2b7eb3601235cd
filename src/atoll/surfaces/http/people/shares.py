"""Routes of share links: make, list and revoke one, and enter by one as a guest.

The link's secret stands in the fragment of the link, which browsers never send, log or pass on. The
page takes it from there and sends it in a body, once.
"""

from starlette.responses import Response

from atoll.domain.ids import RecordingId, TerminalId
from atoll.domain.people.share import Guest, Share, ShareRequest
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.people.cookies import set_cookie
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.people.me import entered_view
from atoll.surfaces.http.server.credentials import GUEST_COOKIE, cookie_of, page_keys
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import guests
from atoll.wire.api.people import shares as api
from atoll.wire.api.people.guests import Guests
from atoll.wire.api.people.shares import Shares

operations = Operations()


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


@operations.serves(Guests.read)
async def read_invitation(
    context: RequestContext, body: guests.InvitationBody
) -> guests.InvitationView:
    source = source_of(context.request.scope)
    found = await context.atoll.shares.invitation(body.ticket, source=source)
    return answer_of(
        guests.InvitationView,
        found.share,
        inviter=found.inviter,
        sandbox_name=None if found.sandbox is None else found.sandbox.name,
        dashboard_name=None if found.dashboard is None else found.dashboard.name,
    )


@operations.forwards(Guests.enter)
async def come_in(context: RequestContext, body: guests.GuestBody) -> Response:
    atoll, request = context.atoll, context.request
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
