"""The inbox and tokens, over the API."""

from typing import Required, TypedDict

from atoll.client import fields
from atoll.client.bodies import InboxAnswerBody
from atoll.client.fields import Shape
from atoll.client.status_shapes import InboxList
from atoll.client.transport import Call, Transport, at, get, post


class Inbox:
    """Everything that waits for a person."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> InboxList:
        """Return what waits, the longest waiting first."""
        return self._transport.read_all(InboxList, get("inbox"))

    def answer(self, item_id: str, body: InboxAnswerBody) -> None:
        """Answer an item as it was shown."""
        self._transport.call(post("inbox", item_id, "answer", value=body))

    def dismiss(self, item_id: str) -> None:
        """Have a mention or a todo wait no more."""
        self._transport.call(Call("DELETE", at("inbox", item_id)))


class PatBody(TypedDict, total=False):
    """A personal access token to make."""

    name: Required[str]
    capabilities: list[str] | None
    ttl: int | str | None
    sandbox_id: str | None
    account: str | None


class RotationBody(TypedDict, total=False):
    """A rotation of the signing keys."""

    at_once: bool


class Token(Shape):
    """A personal access token, without its text."""

    id = fields.text()
    name = fields.text()
    capabilities = fields.texts()
    sandbox_id = fields.text()
    expires_at = fields.text()
    used_at = fields.text()


class MadeToken(Token):
    """A token just made; no other answer has `token`."""

    token = fields.text()


class TokenList(Shape):
    """The caller's living tokens."""

    tokens = fields.many(Token)


class RotatedKey(Shape):
    """The key that signs from now on."""

    kid = fields.text()


class Tokens:
    """The caller's personal access tokens."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, body: PatBody) -> MadeToken:
        """Make a token; only this answer has its text."""
        made = post("tokens", value=body)
        return self._transport.read(MadeToken, made._replace(path="/auth/pat"))

    def list(self, account: str | None = None) -> TokenList:
        """Return the living tokens, or those of a service account, oldest first."""
        query = () if account is None else (("account", account),)
        return self._transport.read(TokenList, get("tokens", query=query))

    def revoke(self, token_id: str) -> None:
        """Revoke a token, and what was made from it."""
        self._transport.call(Call("DELETE", at("tokens", token_id)))

    def rotate_keys(self, body: RotationBody) -> RotatedKey:
        """Sign with a new key from now on."""
        return self._transport.read(RotatedKey, post("tokens", "rotate-keys", value=body))
