"""Approvals: requests from inside a sandbox, and a person's decisions.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import approvals as made


class AsyncApprovals(AsyncNoun[made.Approvals]):
    """Requests of sandboxes that a person decides."""

    blocking = made.Approvals
    list = Awaited(made.Approvals.list)
    get = Awaited(made.Approvals.get)
    confirmation = Awaited(made.Approvals.confirmation)
    approve = Awaited(made.Approvals.approve)
    deny = Awaited(made.Approvals.deny)
    revoke = Awaited(made.Approvals.revoke)
