"""The ways in which clients reach a sandbox, and learn of it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape

LifecycleWebhookState = Literal["delivering", "failing", "disabled", "ended"]


class SshReach(Shape):
    """The SSH gateway's address for a sandbox, the user to log in as there, the command that
    does so, and the fingerprint of the gateway's key."""

    host = fields.text()
    port = fields.number()
    user = fields.text()
    command = fields.text()
    fingerprint = fields.text()


class ReachabilityEntry(Shape):
    """A tunnel or an identity provider that the profile names, as the settings describe it."""

    kind = fields.text()
    url = fields.text()


class LifecycleWebhook(Shape):
    """The webhook that the create named: its id among webhooks, the host of its endpoint, and
    what became of it. `reason` says why it is failing or disabled, or why its last event was
    given up."""

    webhook_id = fields.text()
    host = fields.text()
    state: Field[LifecycleWebhookState] = fields.word()
    reason = fields.text()
    delivered_at = fields.text()
    failed_at = fields.text()


class Reachability(Shape):
    """The ways to a sandbox. `runtime` is its path in the API, `poll_url` answers its state and
    `events_url` its events. `ssh` is null where the SSH gateway listens at no address of its
    own. `tunnel` and `identity` are those that the profile names, null where it names none or
    the settings have lost them. `lifecycle_webhook` is null where the create named none."""

    runtime = fields.text()
    ssh = fields.one(SshReach)
    tunnel = fields.one(ReachabilityEntry)
    identity = fields.one(ReachabilityEntry)
    poll_url = fields.text()
    events_url = fields.text()
    lifecycle_webhook = fields.one(LifecycleWebhook)
