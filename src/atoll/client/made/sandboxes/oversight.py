"""Oversight: every sandbox of an organization or installation, and how administrators end one.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.overview import DoorCounts

State = Literal[
    "requested",
    "provisioning",
    "ready",
    "active",
    "stopped",
    "expired",
    "failed",
    "destroying",
    "destroyed",
]

Scope = Literal["session", "agent", "shared"]


class Overseen(Shape):
    """A sandbox as administrators see it. `agents` are there, `working` are at work, `waiting`
    need their person; `counts` are of its whole life."""

    sandbox_id = fields.text()
    name = fields.text()
    state: Field[State] = fields.word()
    reason = fields.text()
    owner = fields.text()
    scope: Field[Scope] = fields.word()
    profile = fields.text()
    created_at = fields.text()
    last_used_at = fields.text()
    expires_at = fields.text()
    retained_until = fields.text()
    agents = fields.number()
    working = fields.number()
    waiting = fields.number()
    counts = fields.one(DoorCounts)


class OverseenPage(Shape):
    """A page. `total` sandboxes are on all pages, `tally` counts all that fit the other filters
    by state, and `next` is the following `offset`, null on the last page."""

    sandboxes = fields.many(Overseen)
    total = fields.number()
    next = fields.number()


class Running(Shape):
    """A sandbox that runs, or is being made, of whatever organization."""

    sandbox_id = fields.text()
    name = fields.text()
    state: Field[State] = fields.word()
    reason = fields.text()
    owner = fields.text()
    org_id = fields.text()


class RunningList(Shape):
    """Sandboxes that run on the installation."""

    sandboxes = fields.many(Running)
