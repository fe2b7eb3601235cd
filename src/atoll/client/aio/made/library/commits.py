"""Commits: the history of a sandbox's repository, and one commit of it.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.library import commits as made


class AsyncCommits(AsyncNoun[made.Commits]):
    """The commits of a sandbox's repositories."""

    blocking = made.Commits
    list = Awaited(made.Commits.list)
    show = Awaited(made.Commits.show)
