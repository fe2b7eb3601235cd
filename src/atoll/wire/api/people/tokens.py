"""Personal access tokens, and the keys that sign short-lived ones.

A token's text is in one answer, the one that made it, and nowhere else.
"""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId, Seconds, Word
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.people import MAX_CAPABILITIES, MAX_NAME, MAX_TOKENS

Capabilities = Annotated[tuple[Word, ...], Meta(max_length=MAX_CAPABILITIES)]
Account = Annotated[
    Annotated[str, Meta(min_length=1, max_length=200)] | None,
    Meta(description="A service account's id."),
]


class PatBody(Request):
    """A personal access token to make. Without `capabilities` it may do what the caller may; with
    `sandbox_id` (an id or a name) it reaches that sandbox alone. With `account` it is for a service
    account of the caller's organization."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    capabilities: Capabilities | None = None
    ttl: Seconds | None = None
    sandbox_id: Word | None = None
    account: Word | None = None


class RotationBody(Request):
    """A rotation of the signing keys. `at_once` ends what older keys signed."""

    at_once: bool = False


class TokenView(Answer):
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


class TokenList(Answer):
    """The caller's living tokens, oldest first."""

    tokens: list[TokenView]


class RotatedKey(Answer):
    """The id of the key that signs from now on."""

    kid: str


class Tokens(Area):
    """The caller's personal access tokens."""

    tag = "tokens"
    needs = "token.manage"

    @operation("POST /auth/pat", name="make_token", status=201, problems=(404, 413))
    def create(self, body: PatBody) -> MadePatView:
        """Make a personal access token. Its text is returned only here."""

    @operation("GET /v1/tokens", name="list_tokens", problems=(404,), max_items=MAX_TOKENS)
    def list(self, *, account: Account = None) -> TokenList:
        """Return the living tokens of the caller, or of a service account, without their texts."""

    @operation("DELETE /v1/tokens/{token}", name="revoke_token", status=204, problems=(404,))
    def revoke(self, token: ItemId) -> None:
        """Revoke a token and what was made from it. Their open connections end within 5 seconds."""

    @operation(
        "POST /v1/tokens/rotate-keys", name="rotate_keys", needs="system.manage", problems=(413,)
    )
    def rotate_keys(self, body: RotationBody | None = None) -> RotatedKey:
        """Sign with a new key. What older keys signed holds until its end, 15 minutes at most."""
