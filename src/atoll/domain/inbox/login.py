"""Items of the inbox for logins of agents that broke: their person has to log in again.

Pure. Such an item takes no answer. It waits until its login is replaced, or is dismissed.
"""

from typing import Final

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.inbox.item import InboxItem, digest_of
from atoll.domain.logins.agent_login import AgentLoginRecord
from atoll.wire.words.agents import AnswerBy, ItemKind

PREFIX: Final = "alg_"
"""The beginning of the ids of logins, which are those of their items."""


def item_of_login(record: AgentLoginRecord) -> InboxItem:
    """Return the item of a login that broke while it was in use."""
    lines = (
        f"{record.agent} needs a new login; until then its sandboxes have none",
        spelled_out(record.login.reason),
        f"atoll agent login {record.agent} --use",
    )
    since = record.ended_at or record.created_at
    return InboxItem(
        id=record.id,
        kind=ItemKind.LOGIN,
        sandbox_id=None,
        sandbox_name=None,
        since=since.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        lines=tuple(line for line in lines if line),
        options=(),
        by=AnswerBy.PERSON,
        shown=digest_of((record.id, *lines)),
        agent=record.agent,
    )
