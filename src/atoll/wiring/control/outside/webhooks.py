"""Services of webhooks, built from the ports that they use."""

from atoll.ports import Vault
from atoll.ports.senders.webhooks import WebhookSender
from atoll.services.ground import Ground
from atoll.services.webhooks.deliveries import WebhookDeliveries
from atoll.services.webhooks.lifecycle_webhooks import LifecycleWebhooks
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.webhooks import Webhooks
from atoll.services.webhooks.worker import WebhookServices, WebhookWorker


def build_webhooks(ground: Ground, vault: Vault, sender: WebhookSender) -> WebhookServices:
    """Return the use cases of webhooks and their worker. The caller runs the worker."""
    posting = WebhookPosting(ground, vault, sender)
    return WebhookServices(
        endpoints=Webhooks(ground, vault, posting),
        lifecycle=LifecycleWebhooks(ground, vault, posting),
        deliveries=WebhookDeliveries(ground),
        worker=WebhookWorker(ground, posting),
    )
