"""Routes of logins: trade a single-use ticket for a cookie, identify the caller, log out.

The ticket comes in the body: the page takes it from the fragment of the login link, which browsers
never send, log or pass on.
"""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.errors import Forbidden
from atoll.domain.people.capability import Capability
from atoll.domain.people.login import SESSION_LIFE, TICKET_LIFE
from atoll.domain.people.person import TICKET_PREFIX
from atoll.services.application import Application
from atoll.services.people.identity.sessions import Visitor
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.contract import shown
from atoll.surfaces.http.body.fields import Body, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.people.cookies import (
    end_session_cookies,
    login_cookie,
    person_cookie,
    set_cookie,
)
from atoll.surfaces.http.people.links import near_link, outside_link
from atoll.surfaces.http.people.me import entered_view
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.credentials import COOKIE, GUEST_COOKIE, cookie_of
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.api.people.me import EnteredView

router = APIRouter(prefix="/auth", tags=["auth"], route_class=JsonRoute)


class TicketBody(Body):
    """The ticket of a login link."""

    ticket: Annotated[str, Field(min_length=1, max_length=200, strict=True)]


class LogoutView(ResponseModel):
    """The address at the provider that ends the login there, for the browser to open."""

    end_session_url: str


class TicketView(ResponseModel):
    """A new login link, valid once within `expires_in` seconds. `outside_url` is the same link for
    another machine, None where none reaches the server."""

    ticket: str
    url: str
    outside_url: str | None
    expires_in: int


@router.post("/login", response_model=shown(EnteredView), responses=problems(409, 413))
async def log_in(atoll: Atoll, request: Request, body: TicketBody) -> Response:
    """Trade a ticket for a cookie: of a login link for `atoll_session` (30 days), of a login at a
    provider for that, or for `__Host-atoll_session` over TLS."""
    source = source_of(request.scope)
    if body.ticket.startswith(TICKET_PREFIX):
        return await _enter(atoll, request, body.ticket, source)
    session = await atoll.logins.login(body.ticket, source)
    caller = await atoll.logins.by_session(session, source)
    answer = Json(await entered_view(atoll, caller, session))
    set_cookie(request, answer, (COOKIE, session), seconds=int(SESSION_LIFE.total_seconds()))
    return answer


async def _enter(atoll: Application, request: Request, ticket: str, source: str) -> Response:
    """Finish a login at a provider, in the browser that began it."""
    identity, name = atoll.tenancy.identity, login_cookie(request)
    visitor = Visitor(source, request.headers.get("user-agent", ""))
    entered = None
    if identity is not None:
        cookie = cookie_of(request, name) or ""
        entered = await identity.logins.redeem(ticket, cookie, visitor)
    if identity is None or entered is None:
        raise atoll.logins.wrong(source, "this login is over, or was begun in another browser")
    view = await entered_view(atoll, entered.person, entered.session, entered.route)
    answer = Json(view)
    lasts = int(identity.sessions.lives.whole.total_seconds())
    set_cookie(request, answer, (person_cookie(request), entered.session), seconds=lasts)
    set_cookie(request, answer, (name, ""), seconds=0)
    return answer


@router.post("/logout", status_code=204, responses={**problems(), 200: {"model": LogoutView}})
@needs(Capability.ME)
async def log_out(atoll: Atoll, caller: Caller, request: Request) -> Response:
    """End this browser's session, and within 5 seconds its open connections. A token is not a
    session and stays valid. Where the login was at a provider that can end it, too, the answer
    names the address."""
    del caller
    session, guest = request.state.session, request.state.guest
    answer = no_content()
    if session is not None:
        if atoll.tenancy.identity is not None:
            back = near_link(request, "").url.partition("#")[0]
            url = await atoll.tenancy.identity.logins.log_out(session, back)
            answer = answer if url is None else Json({"end_session_url": url})
        await atoll.logins.logout(session)
        end_session_cookies(request, answer)
    if guest is not None:
        await atoll.shares.leave(guest)
        set_cookie(request, answer, (GUEST_COOKIE, ""), seconds=0)
    return answer


@router.post("/tickets", status_code=201, response_model=TicketView, responses=problems())
@needs(Capability.SYSTEM_MANAGE)
async def new_ticket(atoll: Atoll, caller: Caller, request: Request) -> Response:
    """Return a new login link, to a caller with the token file. A browser cannot make one, nor can
    a personal access token: whoever logs in may approve."""
    if caller.interactive or caller.token is not None:
        raise Forbidden("only the command line makes login links: run `atoll login`")
    ticket = await atoll.logins.new_ticket()
    near, outside = (build(request, f"login={ticket}") for build in (near_link, outside_link))
    view = {
        "ticket": ticket,
        "url": near.url,
        "outside_url": None if outside.local_only else outside.url,
        "expires_in": int(TICKET_LIFE.total_seconds()),
    }
    return Json(view, 201)
