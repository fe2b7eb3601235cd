"""Kept worktrees: files and commits that outlived their sandbox.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.library import kept as made


class AsyncKeptFiles(AsyncNoun[made.KeptFiles]):
    """Files the server keeps of sandboxes that were destroyed or recreated."""

    blocking = made.KeptFiles
    list = Awaited(made.KeptFiles.list)
    get = Awaited(made.KeptFiles.get)
    delete = Awaited(made.KeptFiles.delete)
