"""Routes of logins of command lines: begun there, confirmed on the page, fetched there once."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.people.cli_login import LIFE, POLL_SECONDS, CliLogin
from atoll.surfaces.http.body.answers import Json, instant
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/auth/cli", tags=["auth"], route_class=JsonRoute)


class CliLoginBody(Body):
    """The machine on which the command line runs, for the person who confirms."""

    machine: Annotated[str, Field(max_length=200, strict=True)] = ""


class CliPollBody(Body):
    """The secret that `POST /auth/cli` returned."""

    secret: Annotated[str, Field(min_length=1, max_length=200, strict=True)]


class CliLoginView(ResponseModel):
    """A login that begins: the page at `url` shows `code`; `secret` fetches the token."""

    code: str
    secret: str
    url: str
    expires_in: int
    interval: int


class CliPollView(ResponseModel):
    """The token of a confirmed login, once; without, the login still waits."""

    token: str | None
    token_id: str | None
    expires_at: str | None


class WaitingCliLoginView(ResponseModel):
    """A command line that waits: where it runs, and until when."""

    code: str
    machine: str
    address: str
    expires_at: str


@router.post("", status_code=201, response_model=CliLoginView, responses=problems(413))
async def begin_cli_login(atoll: Atoll, request: Request, body: CliLoginBody) -> Response:
    """Begin a login of a command line, which a person confirms on the page within 10 minutes."""
    login, secret = await atoll.tenancy.cli_logins.begin(source_of(request.scope), body.machine)
    view = {
        "code": login.code,
        "secret": secret,
        "url": outside_link(request, f"/cli/{login.code}").url,
        "expires_in": int(LIFE.total_seconds()),
        "interval": POLL_SECONDS,
    }
    return Json(view, 201)


@router.post("/poll", response_model=CliPollView, responses=problems(413))
async def poll_cli_login(atoll: Atoll, request: Request, body: CliPollBody) -> Response:
    """Return the token of a confirmed login, this once; null while it waits."""
    found = await atoll.tenancy.cli_logins.fetch(body.secret, source_of(request.scope))
    if found is None:
        return Json({"token": None, "token_id": None, "expires_at": None})
    token, text = found
    return Json({"token": text, "token_id": token.id, "expires_at": instant(token.expires_at)})


@router.get("/{code}", response_model=WaitingCliLoginView, responses=problems(404))
@needs(Capability.TOKEN_MANAGE)
async def read_cli_login(atoll: Atoll, caller: Caller, code: ItemId) -> Response:
    """Return the command line that waits with this code."""
    return Json(_view(await atoll.tenancy.cli_logins.waiting(caller, code)))


@router.post("/{code}/confirm", response_model=WaitingCliLoginView, responses=problems(404))
@needs(Capability.TOKEN_MANAGE)
async def confirm_cli_login(atoll: Atoll, caller: Caller, code: ItemId) -> Response:
    """Let the command line with this code act for the caller, by a personal access token."""
    return Json(_view(await atoll.tenancy.cli_logins.confirm(caller, code)))


def _view(login: CliLogin) -> dict[str, Any]:
    return {
        "code": login.code,
        "machine": login.machine,
        "address": login.address,
        "expires_at": instant(login.expires_at),
    }
