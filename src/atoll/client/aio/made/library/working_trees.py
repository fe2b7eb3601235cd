"""Working trees: the files before each turn of an agent, the way back to them, and what a person
discards and commits.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import files
from atoll.client.aio.nouns import AsyncNoun, Awaited


class AsyncWorkingTrees(AsyncNoun[files.WorkingTrees]):
    """The working trees of a sandbox."""

    blocking = files.WorkingTrees
    changes = Awaited(files.WorkingTrees.changes)
    diff = Awaited(files.WorkingTrees.diff)
    checkpoints = Awaited(files.WorkingTrees.checkpoints)
    restore = Awaited(files.WorkingTrees.restore)
    discard = Awaited(files.WorkingTrees.discard)
    commit = Awaited(files.WorkingTrees.commit)
