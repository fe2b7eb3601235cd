"""Words and bounds of webhooks."""

from datetime import timedelta
from enum import StrEnum

MAX_WEBHOOKS = 20
"""The number of webhooks of one person."""

MAX_LIFECYCLE_WEBHOOKS = 500
"""The number of lifecycle webhooks of one person: those of sandboxes that are gone count while
their last events are tried again."""

MAX_URL = 2000
MAX_FILTERS = 50
MAX_STREAM = 300

DEFAULT_OVERLAP = timedelta(days=1)
MAX_OVERLAP = timedelta(days=7)
"""The time for which the former secret signs, too."""


class WebhookScope(StrEnum):
    """Events that a webhook reads: those that its owner may see, or those of the organization
    itself and of the sandboxes that are shared in it."""

    OWN = "own"
    ORGANIZATION = "organization"


class DeliveryState(StrEnum):
    """State of a delivery. The later events of a stream wait while one is `retrying`. One that a
    person sends again is `replaying`; nothing waits for it."""

    RETRYING = "retrying"
    REPLAYING = "replaying"
    DEAD = "dead"


class LifecycleWebhookState(StrEnum):
    """State of the webhook that a create named: its last delivery succeeded or none was made yet,
    it failed and is tried again, it is disabled, or it ended after the sandbox's last event."""

    DELIVERING = "delivering"
    FAILING = "failing"
    DISABLED = "disabled"
    ENDED = "ended"
