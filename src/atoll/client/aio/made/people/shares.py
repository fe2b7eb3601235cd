"""Share links of a sandbox: make, list and revoke one.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.people import shares as made


class AsyncShares(AsyncNoun[made.Shares]):
    """The share links of a sandbox."""

    blocking = made.Shares
    create = Awaited(made.Shares.create)
    list = Awaited(made.Shares.list)
    revoke = Awaited(made.Shares.revoke)
