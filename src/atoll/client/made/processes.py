"""Processes that programs left running in a sandbox.

Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import fields
from atoll.client.fields import Shape


class Process(Shape):
    """A process: its pid inside, and the start of its command line, which it chose itself."""

    pid = fields.number()
    command = fields.text()


class OwnUsage(Shape):
    """The resources a runtime itself uses: memory in bytes, processes and threads, each with its
    limit; null is not counted or not bounded."""

    memory_bytes = fields.number()
    most_memory_bytes = fields.number()
    tasks = fields.number()
    most_tasks = fields.number()


class Processes(Shape):
    """Processes left running; `more` when there are more than are listed. `runtime` has the
    resources of the sandbox's own runtime, outside the wall; null where nobody counts them."""

    processes = fields.many(Process)
    more = fields.flag()
    runtime = fields.one(OwnUsage)
