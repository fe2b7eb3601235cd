"""Routes: the decision of each sandbox, explanations, default rules, and health.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.hosts import routes as made


class AsyncRoutes(AsyncNoun[made.Routes]):
    """The routes of sandboxes."""

    blocking = made.Routes
    default = Awaited(made.Routes.default)
    set_default = Awaited(made.Routes.set_default)
    health = Awaited(made.Routes.health)
    explain = Awaited(made.Routes.explain)
    get = Awaited(made.Routes.get)
