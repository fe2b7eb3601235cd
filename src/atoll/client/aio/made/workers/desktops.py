"""Desktops: a person's own machines, which dial in and follow what they are offered.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.workers import desktops as made


class AsyncDesktops(AsyncNoun[made.Desktops]):
    """The machines of a person that take their workers."""

    blocking = made.Desktops
    link = Awaited(made.Desktops.link)
    list = Awaited(made.Desktops.list)
    unlink = Awaited(made.Desktops.unlink)
