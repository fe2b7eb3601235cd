"""Routes of logins at a provider: its realms, and the way there and back.

A browser navigates here, so what goes wrong on the way is a page: what failed, and what to do next.
"""

from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from atoll.domain.error_status import status_of
from atoll.domain.errors import AtollError
from atoll.domain.people.person import LOGIN_LIFE
from atoll.domain.people.realm import MAX_REALMS
from atoll.services.application import Application
from atoll.services.people.identity.provider_logins import ProviderReply
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.plain_page import plain_page
from atoll.surfaces.http.people.cookies import (
    login_cookie,
    set_cookie,
)
from atoll.surfaces.http.people.links import near_link
from atoll.surfaces.http.people.me import identity_of
from atoll.surfaces.http.server.context import Atoll
from atoll.surfaces.http.server.credentials import cookie_of
from atoll.surfaces.http.server.guard import source_of

router = APIRouter(prefix="/auth", tags=["auth"], route_class=JsonRoute)

_WAY: Final[dict[int | str, dict[str, Any]]] = {
    302: {"description": "To the provider, or back to the page."},
    401: {"description": "A page: the login was refused.", "content": {"text/html": {}}},
    404: {"description": "A page: there is no such realm.", "content": {"text/html": {}}},
    503: {"description": "A page: the provider does not answer.", "content": {"text/html": {}}},
}
_TEXT: Final = Query(max_length=4096)


class RealmView(ResponseModel):
    """A realm: a login provider. The browser opens `login_path`."""

    realm: str
    name: str
    login_path: str


class RealmList(ResponseModel):
    """The ways to log in. `mode` is `local` for login links alone, `oidc` for these realms, too."""

    mode: Literal["local", "oidc"]
    realms: list[RealmView]


@router.get("/realms", response_model=RealmList, openapi_extra=at_most(MAX_REALMS))
async def list_realms(atoll: Atoll) -> Response:
    """Return how people log in here."""
    identity = atoll.tenancy.identity
    realms = () if identity is None else identity.logins.realms.values()
    listed = [
        {"realm": one.realm, "name": one.title, "login_path": f"/auth/oidc/{one.realm}/login"}
        for one in realms
    ]
    return Json({"mode": "local" if identity is None else "oidc", "realms": listed})


@router.get("/oidc/{realm}/login", status_code=302, responses=_WAY)
async def begin_login(
    atoll: Atoll, request: Request, realm: str, route: Annotated[str, Query(alias="next")] = ""
) -> Response:
    """Lead the browser to the realm's provider. `next` is a route of the page for afterwards."""
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


@router.get("/oidc/{realm}/callback", status_code=302, responses=_WAY)
async def end_login(
    atoll: Atoll,
    request: Request,
    realm: str,
    *,
    state: Annotated[str, _TEXT] = "",
    code: Annotated[str, _TEXT] = "",
    error: Annotated[str, _TEXT] = "",
    iss: Annotated[str, _TEXT] = "",
) -> Response:
    """Take the answer of the provider, and lead the browser to the page with a single-use ticket,
    which it trades at `/auth/login`."""
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
