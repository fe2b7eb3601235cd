"""Personal access tokens, and the keys that sign short-lived ones.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.people import tokens as made


class AsyncTokens(AsyncNoun[made.Tokens]):
    """The caller's personal access tokens."""

    blocking = made.Tokens
    create = Awaited(made.Tokens.create)
    list = Awaited(made.Tokens.list)
    revoke = Awaited(made.Tokens.revoke)
    rotate_keys = Awaited(made.Tokens.rotate_keys)
