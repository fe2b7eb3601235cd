"""The ends of lifecycle webhooks: each ends once its sandbox's last event is delivered or given up.

What is over is judged in the transaction that removes it, so an end is reported once.
"""

from atoll.domain.webhooks.delivery import UNFINISHED
from atoll.domain.webhooks.webhook import Webhook, WebhookId
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.webhooks.log import WebhookLog, first_unread
from atoll.wire.words.sandboxes import State
from atoll.wire.words.webhooks import DeliveryState


class LifecycleEndings:
    """The ends of lifecycle webhooks."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._log = WebhookLog(ground)

    async def end_if_over(self, webhook_id: WebhookId) -> None:
        """Remove a lifecycle webhook that has nothing left to post; does nothing for another."""
        async with self._ground.store.read() as rows:
            if await _find_over(rows, webhook_id) is None:
                return
        async with self._ground.store.begin() as rows:
            webhook = await _find_over(rows, webhook_id)
            if webhook is None:
                return
            counts = await rows.webhook_deliveries.counts(webhook.id)
            dead = counts.get(DeliveryState.DEAD, 0)
            given_up = webhook.reason or (webhook.failure if dead else None)
            await rows.webhooks.remove(webhook.id)
            await self._log.append(
                rows,
                webhook,
                "webhook.ended",
                payload={"sandbox_id": webhook.sandbox_id, "dead": dead},
                reason=given_up,
            )
        self._log.announce_change(webhook)


async def _find_over(rows: Transaction, webhook_id: WebhookId) -> Webhook | None:
    """Return the lifecycle webhook of this id, if it is over."""
    record = await rows.webhooks.get(webhook_id)
    if record is None or record.webhook.sandbox_id is None:
        return None
    webhook = record.webhook
    sandbox = await rows.sandboxes.get(record.webhook.sandbox_id)
    if sandbox is None or (sandbox.org_id, sandbox.owner) != (webhook.org_id, webhook.owner):
        return webhook
    if sandbox.state is not State.DESTROYED:
        return None
    if not webhook.enabled:
        # Nothing posts what is left.
        return webhook
    left = await rows.webhook_deliveries.of(webhook.id, states=UNFINISHED, after=0, limit=1)
    return None if left or await first_unread(rows, webhook) is not None else webhook
