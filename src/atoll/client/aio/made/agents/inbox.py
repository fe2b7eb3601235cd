"""The inbox: everything that waits for a person, and the answers.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.agents import inbox as made


class AsyncInbox(AsyncNoun[made.Inbox]):
    """Everything that waits for a person."""

    blocking = made.Inbox
    list = Awaited(made.Inbox.list)
    answer = Awaited(made.Inbox.answer)
    dismiss = Awaited(made.Inbox.dismiss)
