"""Commands in a sandbox: run one and wait, follow its output, write to it, signal it, forget it.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import execs as made


class PlainAsyncExecs(AsyncNoun[made.Execs]):
    """Commands in a sandbox."""

    blocking = made.Execs
    list = Awaited(made.Execs.list)
    get = Awaited(made.Execs.get)
