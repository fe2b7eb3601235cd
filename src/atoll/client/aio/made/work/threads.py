"""Review threads: what people say about lines of a sandbox's change.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.work import threads as made


class AsyncReviewThreads(AsyncNoun[made.ReviewThreads]):
    """Review threads. Who reads the sandbox's files reads them; who writes its files writes."""

    blocking = made.ReviewThreads
    list = Awaited(made.ReviewThreads.list)
    places = Awaited(made.ReviewThreads.places)
    open = Awaited(made.ReviewThreads.open)
    resolve = Awaited(made.ReviewThreads.resolve)
    reply = Awaited(made.ReviewThreads.reply)
    reword = Awaited(made.ReviewThreads.reword)
    withdraw = Awaited(made.ReviewThreads.withdraw)
    send = Awaited(made.ReviewThreads.send)
