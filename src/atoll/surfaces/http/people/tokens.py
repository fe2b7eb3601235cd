"""Routes of tokens: personal ones, the signed ones they are exchanged for, and the key set.

A token's text is in one response, the one that made it, and nowhere else.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.bearer import (
    API,
    LIFE,
    MAX_NAMES,
    BearerRequest,
    SubscriptionRequest,
)
from atoll.domain.people.token import TokenRequest
from atoll.services.people.token_issuer import IssuedToken
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ResponseModel, Seconds, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import tokens as api
from atoll.wire.api.people.tokens import Tokens
from atoll.wire.words.people import MAX_CAPABILITIES

operations = Operations()
auth = APIRouter(prefix="/auth", tags=["tokens"], route_class=JsonRoute)
public = APIRouter(tags=["tokens"])

KEY_SET_SECONDS = 300

CapabilityList = Annotated[tuple[Word, ...], Field(max_length=MAX_CAPABILITIES)]
Names = Annotated[tuple[Word, ...], Field(max_length=MAX_NAMES)]


class TokenBody(Body):
    """An exchange for a signed token, which lives at most 15 minutes. `audience` names a service
    that verifies it by the key set; without one it is for this API."""

    audience: Word = API
    capabilities: CapabilityList | None = None
    ttl: Seconds = int(LIFE.total_seconds())


class SubscriptionBody(Body):
    """A token that reads these streams (`sandbox:ID`, `auth`, …, or `*` for all of the caller's)
    and read models (`agents`), and does nothing else."""

    streams: Names = ()
    models: Names = ()
    ttl: Seconds = int(LIFE.total_seconds())


class IssuedView(ResponseModel):
    """A signed token (RFC 6749 §5.1). `expires_in` is in seconds."""

    access_token: str
    token_type: str
    expires_in: int
    audience: str
    capabilities: list[str]


class KeySet(ResponseModel):
    """The public keys of this installation (RFC 7517)."""

    keys: list[dict[str, str]]


@operations.serves(Tokens.create)
async def make_token(context: RequestContext, body: api.PatBody) -> api.MadePatView:
    wanted = TokenRequest(
        body.name,
        None if body.capabilities is None else tuple(body.capabilities),
        None if body.ttl is None else int(body.ttl),
        body.sandbox_id,
        body.account,
    )
    token, text = await context.atoll.tenancy.credentials.tokens.create(context.caller, wanted)
    return answer_of(api.MadePatView, token, token=text)


@operations.serves(Tokens.list)
async def list_tokens(context: RequestContext, *, account: str | None = None) -> api.TokenList:
    tokens = context.atoll.tenancy.credentials.tokens
    found = await tokens.list(context.caller, account=account)
    return api.TokenList(tokens=[answer_of(api.TokenView, token) for token in found])


@operations.serves(Tokens.revoke)
async def revoke_token(context: RequestContext, token: str) -> None:
    await context.atoll.tenancy.credentials.tokens.revoke(context.caller, token)


@operations.serves(Tokens.rotate_keys)
async def rotate_keys(
    context: RequestContext, body: api.RotationBody | None = None
) -> api.RotatedKey:
    at_once = body is not None and body.at_once
    keys = context.atoll.tenancy.credentials.signing_keys
    return api.RotatedKey(kid=await keys.rotate(context.caller, at_once=at_once))


@auth.post("/token", response_model=IssuedView, responses=problems(413))
async def exchange_token(
    atoll: Atoll, caller: Caller, request: Request, body: TokenBody
) -> Response:
    """Exchange the caller's credential for a signed token of at most 15 minutes."""
    wanted = BearerRequest(body.audience, body.capabilities, int(body.ttl))
    issued = await atoll.tenancy.credentials.bearers.exchange(
        caller, wanted, session=request.state.session
    )
    return Json(_issued(issued))


@auth.post("/subscription", response_model=IssuedView, responses=problems(413))
async def make_subscription(
    atoll: Atoll, caller: Caller, request: Request, body: SubscriptionBody
) -> Response:
    """Exchange the caller's credential for a token that reads streams and read models alone."""
    wanted = SubscriptionRequest(body.streams, body.models, int(body.ttl))
    issued = await atoll.tenancy.credentials.bearers.subscribe(
        caller, wanted, session=request.state.session
    )
    return Json(_issued(issued))


@public.get("/.well-known/jwks.json", response_model=KeySet)
async def read_key_set(atoll: Atoll) -> Response:
    """Return the public keys that verify the tokens of this installation."""
    keys = await atoll.tenancy.credentials.signing_keys.public()
    return Json({"keys": keys}, headers={"Cache-Control": f"public, max-age={KEY_SET_SECONDS}"})


def _issued(issued: IssuedToken) -> dict[str, Any]:
    claims = issued.claims
    return {
        "access_token": issued.text,
        "token_type": "Bearer",
        "expires_in": claims.exp - claims.iat,
        "audience": claims.aud,
        "capabilities": list(claims.capabilities),
    }
