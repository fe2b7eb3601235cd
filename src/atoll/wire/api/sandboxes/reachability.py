"""The ways in which clients reach a sandbox, and learn of it."""

from atoll.wire.api.operation import Answer
from atoll.wire.words.webhooks import LifecycleWebhookState


class SshReachView(Answer):
    """The SSH gateway's address for a sandbox, the user to log in as there, the command that does
    so, and the fingerprint of the gateway's key."""

    host: str
    port: int
    user: str
    command: str
    fingerprint: str


class ReachabilityEntryView(Answer):
    """A tunnel or an identity provider that the profile names, as the settings describe it."""

    kind: str
    url: str


class LifecycleWebhookView(Answer):
    """The webhook that the create named: its id among webhooks, the host of its endpoint, and what
    became of it. `reason` says why it is failing or disabled, or why its last event was given
    up."""

    webhook_id: str
    host: str
    state: LifecycleWebhookState
    reason: str | None
    delivered_at: str | None
    failed_at: str | None


class ReachabilityView(Answer):
    """The ways to a sandbox. `runtime` is its path in the API, `poll_url` answers its state and
    `events_url` its events. `ssh` is null where the SSH
    gateway listens at no address of its own. `tunnel` and `identity` are those
    that the profile names, null where it names none or the settings have lost them.
    `lifecycle_webhook` is null where the create named none."""

    runtime: str
    ssh: SshReachView | None
    tunnel: ReachabilityEntryView | None
    identity: ReachabilityEntryView | None
    poll_url: str
    events_url: str
    lifecycle_webhook: LifecycleWebhookView | None
