"""Routes of tokens: personal ones, the signed ones they are exchanged for, the key set, and for
administrators those of their organization.

A token's text is in one response, the one that made it, and nowhere else.
"""

from atoll.domain.people.bearer import BearerRequest, SubscriptionRequest
from atoll.domain.people.token import Token, TokenRequest
from atoll.services.people.token_issuer import IssuedToken
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.people import bearers, team_tokens
from atoll.wire.api.people import tokens as api
from atoll.wire.api.people.bearers import Bearers
from atoll.wire.api.people.team_tokens import TeamTokens
from atoll.wire.api.people.tokens import Tokens

operations = Operations()

KEY_SET_SECONDS = 300


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


@operations.serves(Bearers.exchange)
async def exchange_token(context: RequestContext, body: bearers.TokenBody) -> bearers.IssuedView:
    wanted = BearerRequest(body.audience, body.capabilities, int(body.ttl))
    issued = await context.atoll.tenancy.credentials.bearers.exchange(
        context.caller, wanted, session=context.request.state.session
    )
    return _issued_token_view(issued)


@operations.serves(Bearers.subscribe)
async def make_subscription(
    context: RequestContext, body: bearers.SubscriptionBody
) -> bearers.IssuedView:
    wanted = SubscriptionRequest(body.streams, body.models, int(body.ttl))
    issued = await context.atoll.tenancy.credentials.bearers.subscribe(
        context.caller, wanted, session=context.request.state.session
    )
    return _issued_token_view(issued)


@operations.serves(Bearers.keys)
async def read_key_set(context: RequestContext) -> Reply[bearers.KeySet]:
    keys = await context.atoll.tenancy.credentials.signing_keys.public()
    headers = {"Cache-Control": f"public, max-age={KEY_SET_SECONDS}"}
    return Reply(answer_of(bearers.KeySet, None, keys=keys), 200, headers)


@operations.serves(TeamTokens.list)
async def list_team_tokens(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> team_tokens.TeamTokenList:
    asked = context.page(page)
    tokens_of_team = context.atoll.tenancy.team_tokens
    found = await tokens_of_team.list(context.caller, organization, asked.rows())
    tokens, following = asked.rows_and_next(found, _team_token)
    return team_tokens.TeamTokenList(tokens=tokens, next=following)


@operations.serves(TeamTokens.revoke)
async def revoke_team_token(context: RequestContext, organization: str, token: str) -> None:
    await context.atoll.tenancy.team_tokens.revoke(context.caller, organization, token)


def _team_token(token: Token) -> team_tokens.TeamTokenView:
    return answer_of(team_tokens.TeamTokenView, token)


def _issued_token_view(issued: IssuedToken) -> bearers.IssuedView:
    claims = issued.claims
    return bearers.IssuedView(
        access_token=issued.text,
        token_type="Bearer",  # noqa: S106 - the kind of a token, no secret
        expires_in=claims.exp - claims.iat,
        audience=claims.aud,
        capabilities=[*claims.capabilities],
    )
