"""Consumers: harnesses on whose behalf sandboxes exist, and their sessions, runs and jobs.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.sandboxes import consumers as made


class AsyncConsumers(AsyncNoun[made.Consumers]):
    """Harnesses on whose behalf sandboxes exist."""

    blocking = made.Consumers
    end = Awaited(made.Consumers.end)
    usage = Awaited(made.Consumers.usage)
