"""Routes of logins: trade a single-use ticket for a cookie, and log out.

The ticket comes in the body: the page takes it from the fragment of the login link, which browsers
never send, log or pass on.
"""

from starlette.requests import Request
from starlette.responses import Response

from atoll.domain.errors import Forbidden
from atoll.domain.people.login import SESSION_LIFE, TICKET_LIFE
from atoll.domain.people.person import TICKET_PREFIX
from atoll.services.application import Application
from atoll.services.people.identity.sessions import Visitor
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.people.cookies import (
    end_session_cookies,
    login_cookie,
    person_cookie,
    set_cookie,
)
from atoll.surfaces.http.people.links import near_link, outside_link
from atoll.surfaces.http.people.me import entered_view
from atoll.surfaces.http.server.credentials import COOKIE, GUEST_COOKIE, cookie_of
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import logins as api
from atoll.wire.api.people.logins import Logins

operations = Operations()


@operations.forwards(Logins.enter)
async def log_in(context: RequestContext, body: api.TicketBody) -> Response:
    atoll, request = context.atoll, context.request
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
    person = await atoll.logins.by_session(entered.session, source)
    view = await entered_view(atoll, person, entered.session, entered.route)
    answer = Json(view)
    lasts = int(identity.sessions.lives.whole.total_seconds())
    set_cookie(request, answer, (person_cookie(request), entered.session), seconds=lasts)
    set_cookie(request, answer, (name, ""), seconds=0)
    return answer


@operations.forwards(Logins.leave)
async def log_out(context: RequestContext) -> Response:
    atoll, request = context.atoll, context.request
    session, guest = request.state.session, request.state.guest
    answer = no_content()
    if session is not None:
        if atoll.tenancy.identity is not None:
            back = near_link(request, "").url.partition("#")[0]
            url = await atoll.tenancy.identity.logins.log_out(session, back)
            answer = answer if url is None else Json(api.LogoutView(end_session_url=url))
        await atoll.logins.logout(session)
        end_session_cookies(request, answer)
    if guest is not None:
        await atoll.shares.leave(guest)
        set_cookie(request, answer, (GUEST_COOKIE, ""), seconds=0)
    return answer


@operations.forwards(Logins.leave_everywhere)
async def log_out_everywhere(context: RequestContext) -> Response:
    await context.atoll.logins.logout_everywhere(context.caller)
    answer = no_content()
    end_session_cookies(context.request, answer)
    return answer


@operations.serves(Logins.ticket)
async def new_ticket(context: RequestContext) -> api.TicketView:
    if context.caller.interactive or context.caller.token is not None:
        raise Forbidden("only the command line makes login links: run `atoll login`")
    ticket = await context.atoll.logins.new_ticket()
    fragment = f"login={ticket}"
    outside = outside_link(context.request, fragment)
    return api.TicketView(
        ticket=ticket,
        url=near_link(context.request, fragment).url,
        outside_url=None if outside.local_only else outside.url,
        expires_in=int(TICKET_LIFE.total_seconds()),
    )
