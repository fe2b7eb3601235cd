"""The tokens of an organization, for its administrators."""

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging
from atoll.wire.api.operation import Answer, Area, operation


class TeamTokenView(Answer):
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


class TeamTokenList(Answer):
    """The living tokens of an organization, the first to end first."""

    tokens: list[TeamTokenView]
    next: str | None


class TeamTokens(Area):
    """The tokens of an organization's members and service accounts."""

    tag = "organizations"
    needs = "org.manage"

    @operation(
        "GET /v1/organizations/{organization}/tokens", name="list_team_tokens", problems=(404, 409)
    )
    def list(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> TeamTokenList:
        """Return the living tokens of all members and service accounts, without their texts."""

    @operation(
        "DELETE /v1/organizations/{organization}/tokens/{token}",
        name="revoke_team_token",
        status=204,
        problems=(404, 409),
    )
    def revoke(self, organization: ItemId, token: ItemId) -> None:
        """Revoke a token of a member or service account, and what was made from it. Their open
        connections end within 5 seconds. Only an owner revokes those of an owner."""
