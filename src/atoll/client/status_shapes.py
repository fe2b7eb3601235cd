"""Responses about what agents do, and about what waits for a person, as far as a client reads them.

A test finds the fields of each shape in one of the schemas of `docs/openapi.json`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

AgentStatusKind = Literal["working", "needs_you", "done", "idle", "stopped", "failed"]
InboxItemKind = Literal[
    "secret", "command", "host", "tool", "agent", "push", "end", "setup", "mention", "todo", "login"
]


class StatusOption(Shape):
    """An answer that an agent offers."""

    id = fields.text()
    label = fields.text()
    effect = fields.text()


class AgentStatus(Shape):
    """Status of an agent."""

    status: Field[AgentStatusKind] = fields.word()
    since = fields.text()
    on = fields.text()
    question = fields.text()
    answer: Field[Literal["", "protocol", "terminal"]] = fields.word()
    options = fields.many(StatusOption)
    words = fields.flag()
    turns = fields.number()
    reason = fields.text()
    commits = fields.number()
    plus = fields.number()
    minus = fields.number()


class SandboxAgent(Shape):
    """An agent of a sandbox."""

    id = fields.text()
    agent = fields.text()
    mode = fields.text()
    status = fields.one(AgentStatus)


class BoardPlace(Shape):
    """An item on a dashboard."""

    dashboard_id = fields.text()
    dashboard_name = fields.text()
    item_id = fields.text()


class InboxItem(Shape):
    """Something that waits for a person, in a sandbox or on a dashboard."""

    id = fields.text()
    kind: Field[InboxItemKind] = fields.word()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    place = fields.one(BoardPlace)
    author = fields.text()
    agent = fields.text()
    since = fields.text()
    lines = fields.texts()
    options = fields.many(StatusOption)
    words = fields.flag()
    by: Field[Literal["person", "protocol", "terminal"]] = fields.word()
    shown = fields.text()


class InboxList(Shape):
    """The inbox."""

    items = fields.many(InboxItem)
