"""Files of a sandbox's workspace: list, read, write, move, whole trees, changes.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import files
from atoll.client.aio.nouns import AsyncNoun, Awaited


class PlainAsyncFiles(AsyncNoun[files.Files]):
    """Files of a sandbox's workspace."""

    blocking = files.Files
    stat = Awaited(files.Files.stat)
    total = Awaited(files.Files.total)
    make_directory = Awaited(files.Files.make_directory)
