"""Routes of share links: make, list and revoke one, and enter by one as a guest.

The link's secret stands in the fragment of the link, which browsers never send, log or pass on. The
page takes it from there and sends it in a body, once.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.ids import RecordingId, TerminalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.share import DEFAULT_SECONDS, MAX_SHARES, Guest, Share, ShareRequest
from atoll.domain.terminal.turn import Role
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, Seconds
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.people.cookies import set_cookie
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.people.logins import EnteredView, me
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.credentials import GUEST_COOKIE, cookie_of, page_keys
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.people import MAX_NAME

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/shares", tags=["shares"], route_class=JsonRoute)
entrance = APIRouter(prefix="/auth", tags=["auth"], route_class=JsonRoute)


class ShareBody(Body):
    """A link to make. Without `terminal_id` it opens every terminal of the sandbox; with
    `recording_id` one recording and no terminal."""

    terminal_id: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$", strict=True)] | None = None
    role: Role = Role.VIEWER
    ttl: Seconds = DEFAULT_SECONDS
    name: Annotated[str, Field(max_length=MAX_NAME, strict=True)] | None = None
    recording_id: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$", strict=True)] | None = None


class ShareView(ResponseModel):
    """A link. `guests` is how many came by it and may still be present, `guest_names` who they
    are."""

    share_id: str
    sandbox_id: str
    terminal_id: str | None
    recording_id: str | None
    role: Role
    name: str
    created_at: str
    expires_at: str
    guests: int
    guest_names: list[str]


class MadeView(ShareView):
    """A link just made: `link` is returned only once, and stored nowhere. `local_only`: no other
    machine can open it."""

    link: str
    local_only: bool


class ShareList(ResponseModel):
    """The valid links of a sandbox."""

    shares: list[ShareView]


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


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)


@router.post("", status_code=201, response_model=MadeView, responses=_FAILURES)
@needs(Capability.SHARE_MANAGE)
async def make_share(
    atoll: Atoll, at: CallerSandbox, *, body: ShareBody, request: Request
) -> Response:
    """Make a link for watching (`viewer`) or for typing, too (`controller`)."""
    terminal_id = None
    if body.terminal_id is not None:
        terminal_id = TerminalId(body.terminal_id)
        await atoll.terminals.get(*at, terminal_id)
    recording_id = None
    if body.recording_id is not None:
        recording_id = RecordingId(body.recording_id)
        await atoll.terminals.check_recording(*at, recording_id)
    share_request = ShareRequest(
        terminal_id, body.role, int(body.ttl), body.name or "", recording_id
    )
    share, secret = await atoll.shares.create(*at, share_request)
    link = outside_link(request, f"share={secret}")
    return Json({**_view(share, ()), "link": link.url, "local_only": link.local_only}, 201)


@router.get("", response_model=ShareList, responses=_FAILURES, openapi_extra=at_most(MAX_SHARES))
@needs(Capability.SHARE_MANAGE)
async def list_shares(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the sandbox's valid links, without their secrets."""
    found = await atoll.shares.list(*at)
    return Json({"shares": [_view(share, guests) for share, guests in found]})


@router.delete("/{share}", status_code=204, responses=_FAILURES)
@needs(Capability.SHARE_MANAGE)
async def revoke_share(atoll: Atoll, at: CallerSandbox, *, share: ItemId) -> Response:
    """Revoke a link; connections of its guests are closed within 5 seconds."""
    await atoll.shares.revoke(*at, share)
    return no_content()


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


@entrance.post("/guests", status_code=201, response_model=EnteredView, responses=problems(409, 413))
async def come_in(atoll: Atoll, request: Request, body: GuestBody) -> Response:
    """Trade the secret of a share link for the cookie `atoll_guest`; answers like `/auth/login`. A
    page that came by it before stays the same guest."""
    source = source_of(request.scope)
    before = cookie_of(request, GUEST_COOKIE)
    if before is not None and not atoll.logins.from_page(before, page_keys(request)):
        before = None
    entered = await atoll.shares.enter(body.ticket, body.name, source=source, session=before)
    key = atoll.logins.page_key(entered.session)
    answer = Json({**await me(atoll, entered.guest), "page_key": key, "next": ""}, 201)
    access = entered.guest.guest_access
    if access is not None:
        set_cookie(request, answer, (GUEST_COOKIE, entered.session), until=access.expires_at)
    return answer


def _view(share: Share, guests: tuple[Guest, ...]) -> dict[str, Any]:
    names = [guest.name for guest in guests]
    return ShareView.of(share, share_id=share.id, guests=len(guests), guest_names=names)
