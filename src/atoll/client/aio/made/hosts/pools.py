"""Pools: what is built of a profile before anybody asks for a sandbox.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.hosts import pools as made


class AsyncPools(AsyncNoun[made.Pools]):
    """Pools of the caller's organization."""

    blocking = made.Pools
    list = Awaited(made.Pools.list)
    get = Awaited(made.Pools.get)
    set = Awaited(made.Pools.set)
    remove = Awaited(made.Pools.remove)
