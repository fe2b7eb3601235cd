"""Ownership: to whom a sandbox belongs, and which wait for a new owner.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

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


class WaitingSandbox(Shape):
    """A sandbox whose owner is gone. `GET /v1/sandboxes/{sandbox}` shows it whole."""

    sandbox_id = fields.text()
    name = fields.text()
    state: Field[State] = fields.word()
    owner = fields.text()
    expires_at = fields.text()
    retained_until = fields.text()


class WaitingSandboxList(Shape):
    """The sandboxes that wait for a new owner."""

    sandboxes = fields.many(WaitingSandbox)
    next = fields.text()
