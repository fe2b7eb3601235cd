"""Routes of logins at a provider: its realms, and the way there and back.

A browser navigates here, so what goes wrong on the way is a page: what failed, and what to do next.
"""

from urllib.parse import quote

from starlette.responses import Response

from atoll.domain.error_status import status_of
from atoll.domain.errors import AtollError
from atoll.domain.people.person import LOGIN_LIFE
from atoll.services.application import Application
from atoll.services.people.identity.provider_logins import ProviderReply
from atoll.surfaces.http.body.plain_page import plain_page
from atoll.surfaces.http.people.cookies import (
    login_cookie,
    set_cookie,
)
from atoll.surfaces.http.people.links import near_link
from atoll.surfaces.http.people.me import identity_of
from atoll.surfaces.http.server.credentials import cookie_of
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import logins as api
from atoll.wire.api.people.logins import ProviderLogins

operations = Operations()


@operations.serves(ProviderLogins.realms)
async def list_realms(context: RequestContext) -> api.RealmList:
    identity = context.atoll.tenancy.identity
    realms = () if identity is None else identity.logins.realms.values()
    listed = [
        api.RealmView(realm=one.realm, name=one.title, login_path=f"/auth/oidc/{one.realm}/login")
        for one in realms
    ]
    return api.RealmList(mode="local" if identity is None else "oidc", realms=listed)


@operations.forwards(ProviderLogins.begin)
async def begin_login(context: RequestContext, realm: str, *, route: str = "") -> Response:
    atoll, request = context.atoll, context.request
    try:
        redirect_uri = near_link(request, "").url.partition("/#")[0]
        url, cookie = await identity_of(atoll).logins.begin(
            realm[:100], f"{redirect_uri}/auth/oidc/{realm[:100]}/callback", route[:400]
        )
    except AtollError as error:
        return _sorry(atoll, realm, error)
    answer = _redirect(url)
    name = login_cookie(request)
    set_cookie(
        request, answer, (name, cookie), seconds=int(LOGIN_LIFE.total_seconds()), samesite="lax"
    )
    return answer


@operations.forwards(ProviderLogins.end)
async def end_login(
    context: RequestContext,
    realm: str,
    *,
    state: str = "",
    code: str = "",
    error: str = "",
    iss: str = "",
) -> Response:
    atoll, request = context.atoll, context.request
    cookie = cookie_of(request, login_cookie(request)) or ""
    address = source_of(request.scope)
    reply = ProviderReply(state, code, error, iss, address)
    try:
        ticket = await identity_of(atoll).logins.finish(realm[:100], cookie, reply)
    except AtollError as failure:
        return _sorry(atoll, realm, failure)
    return _redirect(f"/#login={ticket}")


def _redirect(url: str) -> Response:
    return Response(status_code=302, headers={"Location": url})


def _sorry(atoll: Application, realm: str, error: AtollError) -> Response:
    """Return the page for a login that failed, with nothing of the request on it."""
    identity = atoll.tenancy.identity
    known = None if identity is None else identity.logins.realms.get(realm)
    start = ("Back to the start", "/")
    if known is None:
        told = "There is no such way to log in here." if identity is not None else error.message
        return plain_page("You are not logged in", (told,), (start,), status=status_of(error))
    again = (f"Log in with {known.title} again", f"/auth/oidc/{quote(known.realm)}/login")
    hint = f"If this happens again, ask whoever runs this Atoll, and name the login {known.realm}."
    return plain_page(
        "You are not logged in", (error.message, hint), (again, start), status=status_of(error)
    )
