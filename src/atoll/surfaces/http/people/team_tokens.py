"""Routes of the tokens of an organization, for its administrators."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.people.token import Token
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/organizations/{organization}/tokens", tags=["organizations"])


class TeamTokenView(ResponseModel):
    """A token of a member or a service account, `owner`. `used_at` is its last use, by the
    minute."""

    id: str
    owner: str
    name: str
    capabilities: list[str]
    sandbox_id: str | None
    created_at: str
    expires_at: str
    used_at: str | None


class TeamTokenList(PageModel):
    """The living tokens of an organization, the first to end first."""

    tokens: list[TeamTokenView]


@router.get("", response_model=TeamTokenList, responses=problems(404, 409))
@needs(Capability.ORG_MANAGE)
async def list_team_tokens(
    atoll: Atoll,
    caller: Caller,
    *,
    organization: ItemId,
    page: Paged,
) -> Response:
    """Return the living tokens of all members and service accounts, without their texts."""
    found = await atoll.tenancy.team_tokens.list(caller, organization, page.rows())
    return Json(page.of_rows(found, name="tokens", view=_view))


@router.delete("/{token}", status_code=204, responses=problems(404, 409))
@needs(Capability.ORG_MANAGE)
async def revoke_team_token(
    atoll: Atoll, caller: Caller, *, organization: ItemId, token: ItemId
) -> Response:
    """Revoke a token of a member or service account, and what was made from it. Their open
    connections end within 5 seconds. Only an owner revokes those of an owner."""
    await atoll.tenancy.team_tokens.revoke(caller, organization, token)
    return no_content()


def _view(token: Token) -> dict[str, Any]:
    return TeamTokenView.of(token)
