"""Routes of tokens: personal ones, the signed ones they are exchanged for, and the key set.

A token's text is in one response, the one that made it, and nowhere else.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.bearer import (
    API,
    LIFE,
    MAX_NAMES,
    BearerRequest,
    SubscriptionRequest,
)
from atoll.domain.people.capability import Capability
from atoll.domain.people.name import MAX_NAME
from atoll.domain.people.token import MAX_TOKENS, Token, TokenRequest
from atoll.services.people.token_issuer import IssuedToken
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, Seconds, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], route_class=JsonRoute)
auth = APIRouter(prefix="/auth", tags=["tokens"], route_class=JsonRoute)
public = APIRouter(tags=["tokens"])

MAX_CAPABILITIES = 100
KEY_SET_SECONDS = 300

CapabilityList = Annotated[tuple[Word, ...], Field(max_length=MAX_CAPABILITIES)]
Names = Annotated[tuple[Word, ...], Field(max_length=MAX_NAMES)]


class PatBody(Body):
    """A personal access token to make. Without `capabilities` it may do what the caller may; with
    `sandbox_id` (an id or a name) it reaches that sandbox alone. With `account` it is for a service
    account of the caller's organization."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME, strict=True)]
    capabilities: CapabilityList | None = None
    ttl: Seconds | None = None
    sandbox_id: Word | None = None
    account: Word | None = None


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


class RotationBody(Body):
    """A rotation of the signing keys. `at_once` ends what older keys signed."""

    at_once: Annotated[bool, Field(strict=True)] = False


class TokenView(ResponseModel):
    """A personal access token. `used_at` is its last use, by the minute; `parent` the token that it
    was made with."""

    id: str
    name: str
    capabilities: list[str]
    sandbox_id: str | None
    parent: str | None
    created_at: str
    expires_at: str
    used_at: str | None


class MadePatView(TokenView):
    """A token just made: `token` is returned only once, and stored nowhere."""

    token: str


class TokenList(ResponseModel):
    """The caller's living tokens, oldest first."""

    tokens: list[TokenView]


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


class RotatedKey(ResponseModel):
    """The id of the key that signs from now on."""

    kid: str


@auth.post("/pat", status_code=201, response_model=MadePatView, responses=problems(404, 413))
@needs(Capability.TOKEN_MANAGE)
async def make_token(atoll: Atoll, caller: Caller, body: PatBody) -> Response:
    """Make a personal access token. Its text is returned only here."""
    request = TokenRequest(
        body.name,
        body.capabilities,
        None if body.ttl is None else int(body.ttl),
        body.sandbox_id,
        body.account,
    )
    token, text = await atoll.tenancy.credentials.tokens.create(caller, request)
    return Json({**_view(token), "token": text}, 201)


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


@router.get(
    "", response_model=TokenList, responses=problems(404), openapi_extra=at_most(MAX_TOKENS)
)
@needs(Capability.TOKEN_MANAGE)
async def list_tokens(
    atoll: Atoll,
    caller: Caller,
    *,
    account: Annotated[
        str | None, Query(description="A service account's id.", min_length=1, max_length=200)
    ] = None,
) -> Response:
    """Return the living tokens of the caller, or of a service account, without their texts."""
    found = await atoll.tenancy.credentials.tokens.list(caller, account=account)
    return Json({"tokens": [_view(token) for token in found]})


@router.delete("/{token}", status_code=204, responses=problems(404))
@needs(Capability.TOKEN_MANAGE)
async def revoke_token(atoll: Atoll, caller: Caller, *, token: ItemId) -> Response:
    """Revoke a token and what was made from it. Their open connections end within 5 seconds."""
    await atoll.tenancy.credentials.tokens.revoke(caller, token)
    return no_content()


@router.post("/rotate-keys", response_model=RotatedKey, responses=problems(413))
@needs(Capability.SYSTEM_MANAGE)
async def rotate_keys(atoll: Atoll, caller: Caller, body: RotationBody | None = None) -> Response:
    """Sign with a new key. What older keys signed holds until its end, 15 minutes at most."""
    at_once = body is not None and body.at_once
    return Json(
        {"kid": await atoll.tenancy.credentials.signing_keys.rotate(caller, at_once=at_once)}
    )


@public.get("/.well-known/jwks.json", response_model=KeySet)
async def read_key_set(atoll: Atoll) -> Response:
    """Return the public keys that verify the tokens of this installation."""
    keys = await atoll.tenancy.credentials.signing_keys.public()
    return Json({"keys": keys}, headers={"Cache-Control": f"public, max-age={KEY_SET_SECONDS}"})


def _view(token: Token) -> dict[str, Any]:
    return TokenView.of(token)


def _issued(issued: IssuedToken) -> dict[str, Any]:
    claims = issued.claims
    return {
        "access_token": issued.text,
        "token_type": "Bearer",
        "expires_in": claims.exp - claims.iat,
        "audience": claims.aud,
        "capabilities": list(claims.capabilities),
    }
