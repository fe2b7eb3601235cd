"""Snapshots of sandboxes, what comes back as one, and forks.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.sandboxes import snapshots as made


class AsyncSandboxSnapshots(AsyncNoun[made.SandboxSnapshots]):
    """Snapshots of one sandbox, and what is made of it."""

    blocking = made.SandboxSnapshots
    take = Awaited(made.SandboxSnapshots.take)
    restore = Awaited(made.SandboxSnapshots.restore)
    fork = Awaited(made.SandboxSnapshots.fork)


class AsyncSnapshots(AsyncNoun[made.Snapshots]):
    """Snapshots that the caller may see."""

    blocking = made.Snapshots
    list = Awaited(made.Snapshots.list)
    get = Awaited(made.Snapshots.get)
    export = Awaited(made.Snapshots.export)
    verify = Awaited(made.Snapshots.verify)
    bring_back = Awaited(made.Snapshots.bring_back)
    remove = Awaited(made.Snapshots.remove)
