"""Secrets, the vault they are sealed by, approvals and tokens, over the API."""

from typing import Required, TypedDict

from atoll.client import fields
from atoll.client.bodies import InboxAnswerBody, SecretBody
from atoll.client.fields import Shape
from atoll.client.shapes import Rotated, Secret, SecretList
from atoll.client.status_shapes import InboxList
from atoll.client.transport import Call, Pairs, Transport, at, get, post, put


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


class Secrets:
    """The secrets of an installation. Values go in and never come out."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> SecretList:
        """Return the secrets, without their values."""
        return self._transport.read_all(SecretList, get("secrets"))

    def set(self, name: str, body: SecretBody) -> Secret:
        """Set a secret, new or not."""
        return self._transport.read(Secret, put("secrets", name, value=body))

    def rotate(self, name: str, value: str, *, scope: str | None) -> Secret:
        """Give a secret a new value; `scope` selects one where several secrets have the name."""
        call = post("secrets", name, "rotate", value={"value": value}, query=_scope(scope))
        return self._transport.read(Secret, call)

    def delete(self, name: str, *, scope: str | None) -> None:
        """Remove a secret, from every running sandbox at once."""
        self._transport.call(Call("DELETE", at("secrets", name), _scope(scope)))

    def rotate_master(self) -> Rotated:
        """Seal every secret under a new master key."""
        return self._transport.read(Rotated, post("vault", "rotate-master"))


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


def _scope(scope: str | None) -> Pairs:
    return (("scope", scope),) if scope else ()
