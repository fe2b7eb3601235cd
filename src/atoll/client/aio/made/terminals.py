"""Terminals of a sandbox: open, list, size, signal and end.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import terminals as made


class PlainAsyncTerminals(AsyncNoun[made.Terminals]):
    """Terminals of a sandbox."""

    blocking = made.Terminals
    record = Awaited(made.Terminals.record)
    stop_recording = Awaited(made.Terminals.stop_recording)
    recordings = Awaited(made.Terminals.recordings)
    delete_recording = Awaited(made.Terminals.delete_recording)
    search = Awaited(made.Terminals.search)
    list = Awaited(made.Terminals.list)
    open = Awaited(made.Terminals.open)
    get = Awaited(made.Terminals.get)
    change = Awaited(made.Terminals.change)
