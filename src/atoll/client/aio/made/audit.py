"""The audit log: pages of it, an export, and a verification of its chain.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made import audit as made


class PlainAsyncAudit(AsyncNoun[made.Audit]):
    """The audit log of the caller's organization."""

    blocking = made.Audit
    page = Awaited(made.Audit.page)
    verify = Awaited(made.Audit.verify)
