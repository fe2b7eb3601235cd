"""Signed tokens, which a credential is exchanged for."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import Seconds, Word
from atoll.wire.api.operation import Answer, Area, Failures, Request, operation
from atoll.wire.api.people.tokens import Capabilities
from atoll.wire.words.people import (
    API_AUDIENCE,
    BEARER_SECONDS,
    MAX_SUBSCRIBED,
)

Names = Annotated[tuple[Word, ...], Meta(max_length=MAX_SUBSCRIBED)]


class TokenBody(Request):
    """An exchange for a signed token, which lives at most 15 minutes. `audience` names a service
    that verifies it by the key set; without one it is for this API."""

    audience: Word = API_AUDIENCE
    capabilities: Capabilities | None = None
    ttl: Seconds = Seconds(BEARER_SECONDS)


class SubscriptionBody(Request):
    """A token that reads these streams (`sandbox:ID`, `auth`, …, or `*` for all of the caller's)
    and read models (`agents`), and does nothing else."""

    streams: Names = ()
    models: Names = ()
    ttl: Seconds = Seconds(BEARER_SECONDS)


class IssuedView(Answer):
    """A signed token (RFC 6749 §5.1). `expires_in` is in seconds."""

    access_token: str
    token_type: str
    expires_in: int
    audience: str
    capabilities: list[str]


class KeySet(Answer):
    """The public keys of this installation (RFC 7517)."""

    keys: list[dict[str, str]]


class Bearers(Area):
    """The exchange of a credential for a signed token that can do no more than it."""

    tag = "tokens"
    needs = "token.manage"

    @operation("POST /auth/token", name="exchange_token", any_caller=True, problems=(413,))
    def exchange(self, body: TokenBody) -> IssuedView:
        """Exchange the caller's credential for a signed token of at most 15 minutes."""

    @operation(
        "POST /auth/subscription", name="make_subscription", any_caller=True, problems=(413,)
    )
    def subscribe(self, body: SubscriptionBody) -> IssuedView:
        """Exchange the caller's credential for a token that reads streams and read models alone."""

    @operation("GET /.well-known/jwks.json", name="read_key_set", public=True, failures=Failures())
    def keys(self) -> KeySet:
        """Return the public keys that verify the tokens of this installation."""
