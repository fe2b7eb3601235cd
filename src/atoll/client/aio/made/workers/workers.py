"""Workers: agents that a program drives, each with a durable stream.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.workers import workers


class PlainAsyncWorkers(AsyncNoun[workers.Workers]):
    """Agents that a program drives."""

    blocking = workers.Workers
    create = Awaited(workers.Workers.create)
    page = Awaited(workers.Workers.page)
    get = Awaited(workers.Workers.get)
    stop = Awaited(workers.Workers.stop)
    give_back = Awaited(workers.Workers.give_back)
    erase = Awaited(workers.Workers.erase)
    request = Awaited(workers.Workers.request)
    result = Awaited(workers.Workers.result)
    ask = Awaited(workers.Workers.ask)
    answer = Awaited(workers.Workers.answer)
    take = Awaited(workers.Workers.take)
