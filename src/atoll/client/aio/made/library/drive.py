"""A person's Google Drive: its connection, its files, and their way to a workspace and back.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.library import drive as made


class AsyncDrives(AsyncNoun[made.Drives]):
    """The caller's Google Drive."""

    blocking = made.Drives
    get = Awaited(made.Drives.get)
    disconnect = Awaited(made.Drives.disconnect)
    files = Awaited(made.Drives.files)
    bring = Awaited(made.Drives.bring)
    send = Awaited(made.Drives.send)
