"""Hooks: addresses at which other systems report what happened there.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import hooks as made


class AsyncHooks(AsyncNoun[made.Hooks]):
    """Addresses for the reports of other systems."""

    blocking = made.Hooks
    create = Awaited(made.Hooks.create)
    list = Awaited(made.Hooks.list)
    remove = Awaited(made.Hooks.remove)
    test = Awaited(made.Hooks.test)
