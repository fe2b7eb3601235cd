"""Responses about what agents do, as far as a client reads them.

A test finds the fields of each shape in one of the schemas of `docs/openapi.json`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

AgentStatusKind = Literal["working", "needs_you", "done", "idle", "stopped", "failed"]


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
