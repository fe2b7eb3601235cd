"""Sandboxes: create, read, stop, start, recreate, destroy.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import sandboxes
from atoll.client.aio.nouns import AsyncNoun, Awaited


class PlainAsyncSandboxes(AsyncNoun[sandboxes.Sandboxes]):
    """The sandboxes of an installation."""

    blocking = sandboxes.Sandboxes
    tools = Awaited(sandboxes.Sandboxes.tools)
    finish_pull = Awaited(sandboxes.Sandboxes.finish_pull)
    sync = Awaited(sandboxes.Sandboxes.sync)
    pushes = Awaited(sandboxes.Sandboxes.pushes)
    unpulled = Awaited(sandboxes.Sandboxes.unpulled)
    processes = Awaited(sandboxes.Sandboxes.processes)
    end_processes = Awaited(sandboxes.Sandboxes.end_processes)
    network = Awaited(sandboxes.Sandboxes.network)
    change_network = Awaited(sandboxes.Sandboxes.change_network)
    safety = Awaited(sandboxes.Sandboxes.safety)
    sleep = Awaited(sandboxes.Sandboxes.sleep)
    start = Awaited(sandboxes.Sandboxes.start)
    archive = Awaited(sandboxes.Sandboxes.archive)
    revive = Awaited(sandboxes.Sandboxes.revive)
    recreate = Awaited(sandboxes.Sandboxes.recreate)
    extend_ttl = Awaited(sandboxes.Sandboxes.extend_ttl)
    log = Awaited(sandboxes.Sandboxes.log)
    review = Awaited(sandboxes.Sandboxes.review)
    merge = Awaited(sandboxes.Sandboxes.merge)
    get = Awaited(sandboxes.Sandboxes.get)
    stop = Awaited(sandboxes.Sandboxes.stop)
    destroy = Awaited(sandboxes.Sandboxes.destroy)
    take_pull = Awaited(sandboxes.Sandboxes.take_pull)
