"""Forges: pull requests of a sandbox's branches, and what a forge has.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import forges as made


class AsyncPullRequests(AsyncNoun[made.PullRequests]):
    """Pull requests of a sandbox's branches."""

    blocking = made.PullRequests
    list = Awaited(made.PullRequests.list)
    create = Awaited(made.PullRequests.create)
    get = Awaited(made.PullRequests.get)


class AsyncIssues(AsyncNoun[made.Issues]):
    """Issues and pull requests at forges for which the caller has a token."""

    blocking = made.Issues
    get = Awaited(made.Issues.get)
