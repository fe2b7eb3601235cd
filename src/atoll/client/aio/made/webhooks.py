"""Webhooks: endpoints to which the log is posted, and what they did not accept.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import webhooks as made


class PlainAsyncWebhooks(AsyncNoun[made.Webhooks]):
    """Endpoints that receive events."""

    blocking = made.Webhooks
    list = Awaited(made.Webhooks.list)
    create = Awaited(made.Webhooks.create)
    get = Awaited(made.Webhooks.get)
    change = Awaited(made.Webhooks.change)
    remove = Awaited(made.Webhooks.remove)
    rotate = Awaited(made.Webhooks.rotate)
    test = Awaited(made.Webhooks.test)
    drop = Awaited(made.Webhooks.drop)
    replay = Awaited(made.Webhooks.replay)
