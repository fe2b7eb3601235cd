"""Routes by which a person logs agents in at their vendors, and decides where the logins are used.

No answer holds a token, a code that is traded for one, or a key: shown are references.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from atoll.domain.ids import AgentLoginId
from atoll.domain.login.agent_login import (
    MAX_EXPOSED,
    AgentLoginRecord,
    LoginMethod,
    LoginState,
)
from atoll.domain.login.redirect import MAX_PASTED
from atoll.domain.people.capability import Capability
from atoll.services.logins.begun import BegunAgentLogin
from atoll.surfaces.http.body.answers import Json, instant
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

MAX_KEY = 4096
MAX_PROVIDER = 64

router = APIRouter(prefix="/v1/agent-logins", tags=["agent logins"], route_class=JsonRoute)


class AgentLoginBody(Body):
    """A login to begin: by device code (`method` 1), in a browser (0), or by an API key (2), which
    alone has `api_key`, and `provider` where the agent calls several."""

    agent: Word = "codex"
    method: Annotated[int, Field(ge=0, le=2, strict=True)] = LoginMethod.DEVICE.value
    api_key: Annotated[str, Field(max_length=MAX_KEY, strict=True, repr=False)] = ""
    provider: Annotated[str, Field(max_length=MAX_PROVIDER, strict=True)] = ""


class RedirectBody(Body):
    """The whole address that the browser was sent back to."""

    redirect: Annotated[str, Field(min_length=1, max_length=MAX_PASTED, strict=True, repr=False)]


class LoginUseBody(Body):
    """The use of a login by sandboxes of its agent: its owner says that their plan allows it."""

    in_use: Annotated[bool, Field(strict=True)]


class LoginExposureBody(Body):
    """The sandboxes and profiles without doors that get the access token of a login itself:
    `sandbox:<sandbox id>` or `profile:profile.<name>`. An empty list takes it back."""

    exposed_to: Annotated[list[Word], Field(max_length=MAX_EXPOSED)]


class AgentLoginView(ResponseModel):
    """A login of an agent. `token_ref` is the secret that holds its tokens, which nobody reads.
    While it waits for its person, `page` is where they confirm it, by device code with `user_code`.
    `expires_at` is the end of its token, which is refreshed before; null for a key. `reason` says
    why it ended. `provider` is that of a key. `exposed_to` names where its access token is put
    inside."""

    id: str
    agent: str
    method: int
    status: LoginState
    reason: str
    in_use: bool
    token_ref: str
    scopes: list[str]
    provider: str
    exposed_to: list[str]
    page: str
    user_code: str
    created_at: str
    expires_at: str | None


class AgentLoginList(PageModel):
    """The caller's logins, oldest first."""

    logins: list[AgentLoginView]


@router.post(
    "", status_code=201, response_model=AgentLoginView, responses=problems(403, 404, 413, 429, 503)
)
@needs(Capability.SECRET_MANAGE)
async def begin_agent_login(atoll: Atoll, caller: Caller, body: AgentLoginBody) -> Response:
    """Begin a login. No sandbox uses it before its owner turns it on."""
    request = BegunAgentLogin(body.agent, LoginMethod(body.method), body.api_key, body.provider)
    return Json(_view(await atoll.agent_logins.begin(caller, request)), 201)


@router.get("", response_model=AgentLoginList, responses=problems(403))
@needs(Capability.SECRET_READ)
async def list_agent_logins(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the caller's logins, also those that ended."""
    found = await atoll.agent_logins.list(caller)
    return Json(page.of(found, name="logins", key=lambda one: one.id, view=_view))


@router.get("/{login}", response_model=AgentLoginView, responses=problems(403, 404))
@needs(Capability.SECRET_READ)
async def get_agent_login(atoll: Atoll, caller: Caller, *, login: ItemId) -> Response:
    """Return a login of the caller."""
    return Json(_view(await atoll.agent_logins.get(caller, AgentLoginId(login))))


@router.post(
    "/{login}/redirect",
    response_model=AgentLoginView,
    responses=problems(403, 404, 409, 413, 503),
)
@needs(Capability.SECRET_MANAGE)
async def paste_agent_login(
    atoll: Atoll, caller: Caller, *, login: ItemId, body: RedirectBody
) -> Response:
    """Finish a login in a browser by the address that it was sent back to."""
    record = await atoll.agent_logins.paste(caller, AgentLoginId(login), body.redirect)
    return Json(_view(record))


@router.put("/{login}/use", response_model=AgentLoginView, responses=problems(403, 404, 409, 413))
@needs(Capability.SECRET_MANAGE)
async def turn_agent_login(
    atoll: Atoll, caller: Caller, *, login: ItemId, body: LoginUseBody
) -> Response:
    """Turn the use of a login on or off. Of the logins of an agent one is on."""
    await atoll.agent_logins.turn(caller, AgentLoginId(login), on=body.in_use)
    return Json(_view(await atoll.agent_logins.get(caller, AgentLoginId(login))))


@router.put(
    "/{login}/exposure", response_model=AgentLoginView, responses=problems(403, 404, 409, 413, 429)
)
@needs(Capability.SECRET_MANAGE)
async def expose_agent_login(
    atoll: Atoll, caller: Caller, *, login: ItemId, body: LoginExposureBody
) -> Response:
    """Put the access token of a login into these sandboxes without doors, and into no other."""
    scopes = tuple(body.exposed_to)
    return Json(_view(await atoll.agent_logins.expose(caller, AgentLoginId(login), scopes)))


@router.delete("/{login}", response_model=AgentLoginView, responses=problems(403, 404))
@needs(Capability.SECRET_MANAGE)
async def revoke_agent_login(atoll: Atoll, caller: Caller, *, login: ItemId) -> Response:
    """End a login here and at its issuer, and forget its tokens. Idempotent."""
    return Json(_view(await atoll.agent_logins.revoke(caller, AgentLoginId(login))))


def _view(record: AgentLoginRecord) -> dict[str, Any]:
    login = record.login
    return AgentLoginView.of(
        record,
        method=int(login.method),
        status=login.state,
        reason=login.reason,
        scopes=list(record.scopes),
        exposed_to=list(record.exposed_to),
        expires_at=login.expires_at if login.expires_at is None else instant(login.expires_at),
    )
