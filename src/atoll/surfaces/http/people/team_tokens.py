"""Routes of the tokens of an organization, for its administrators."""

from atoll.domain.people.token import Token
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.people import team_tokens as api
from atoll.wire.api.people.team_tokens import TeamTokens

operations = Operations()


@operations.serves(TeamTokens.list)
async def list_team_tokens(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.TeamTokenList:
    asked = context.page(page)
    team_tokens = context.atoll.tenancy.team_tokens
    found = await team_tokens.list(context.caller, organization, asked.rows())
    tokens, following = asked.rows_and_next(found, _view)
    return api.TeamTokenList(tokens=tokens, next=following)


@operations.serves(TeamTokens.revoke)
async def revoke_team_token(context: RequestContext, organization: str, token: str) -> None:
    await context.atoll.tenancy.team_tokens.revoke(context.caller, organization, token)


def _view(token: Token) -> api.TeamTokenView:
    return answer_of(api.TeamTokenView, token)
