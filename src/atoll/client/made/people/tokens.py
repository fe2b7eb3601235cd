"""Personal access tokens, and the keys that sign short-lived ones.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.transport import Call, Pairs, Transport, api_path, get, post, query_of


class Token(Shape):
    """A personal access token. `used_at` is its last use, by the minute; `parent` the token that
    it was made with."""

    id = fields.text()
    name = fields.text()
    capabilities = fields.texts()
    sandbox_id = fields.text()
    parent = fields.text()
    created_at = fields.text()
    expires_at = fields.text()
    used_at = fields.text()


class MadeToken(Token):
    """A token just made: `token` is returned only once, and stored nowhere."""

    token = fields.text()


class TokenList(Shape):
    """The caller's living tokens, oldest first."""

    tokens = fields.many(Token)


class RotatedKey(Shape):
    """The id of the key that signs from now on."""

    kid = fields.text()


class PatBody(TypedDict, total=False):
    """A personal access token to make. Without `capabilities` it may do what the caller may;
    with `sandbox_id` (an id or a name) it reaches that sandbox alone. With `account` it is for a
    service account of the caller's organization."""

    name: Required[str]
    capabilities: list[str] | None
    ttl: int | str | None
    sandbox_id: str | None
    account: str | None


class RotationBody(TypedDict, total=False):
    """A rotation of the signing keys. `at_once` ends what older keys signed."""

    at_once: bool


class Tokens:
    """The caller's personal access tokens. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, body: PatBody) -> MadeToken:
        """Make a personal access token. Its text is returned only here."""
        return self._transport.read(
            MadeToken, post("auth", "pat", value=body)._replace(path="/auth/pat")
        )

    def list(self, account: str | None = None, query: Pairs = ()) -> TokenList:
        """Return the living tokens of the caller, or of a service account, without their texts."""
        return self._transport.read(
            TokenList, get("tokens", query=query_of(account=account) + query)
        )

    def revoke(self, token_id: str) -> None:
        """Revoke a token and what was made from it. Their open connections end within 5 seconds."""
        self._transport.call(Call("DELETE", api_path("tokens", token_id)))

    def rotate_keys(self, body: RotationBody | None = None) -> RotatedKey:
        """Sign with a new key. What older keys signed holds until its end, 15 minutes at most."""
        return self._transport.read(RotatedKey, post("tokens", "rotate-keys", value=body))
