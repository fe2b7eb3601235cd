"""The end of dead letters, which have copies of messages, and of lifecycle webhooks that nobody
serves any more: they are disabled, and their sandboxes are gone."""

from atoll.domain.webhooks.delivery import MAX_DEAD, is_old
from atoll.services.ground import Ground
from atoll.services.repetition import NEXT_SWEEP, sweep_hourly
from atoll.services.webhooks.lifecycle_endings import LifecycleEndings
from atoll.wire.words.webhooks import DeliveryState

_DEAD = frozenset({DeliveryState.DEAD})


class WebhookAging:
    """The removal of old dead letters of all webhooks, once an hour."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._endings = LifecycleEndings(ground)

    async def run(self) -> None:
        """Remove at intervals; never returns."""
        await sweep_hourly(
            self._ground.clock,
            self.sweep,
            failed="dead_letters_not_removed",
            broke="dead_letters_broke",
            first=NEXT_SWEEP,
        )

    async def sweep(self) -> int:
        """Remove what is too old now. Returns how many dead letters that were."""
        removed, now = 0, self._ground.clock.now()
        async with self._ground.store.read() as rows:
            records = await rows.webhooks.everything()
        for webhook_id in [record.webhook.id for record in records if record.webhook.sandbox_id]:
            await self._endings.end_if_over(webhook_id)
        for webhook_id in [record.webhook.id for record in records]:
            async with self._ground.store.read() as rows:
                dead = await rows.webhook_deliveries.of(
                    webhook_id, states=_DEAD, after=0, limit=2 * MAX_DEAD
                )
            old = [delivery for delivery in dead if is_old(delivery, now)]
            if old:
                async with self._ground.store.begin() as rows:
                    for delivery in old:
                        # Unless its owner sends it again meanwhile.
                        if (
                            await rows.webhook_deliveries.get(webhook_id, delivery.event_id)
                            == delivery
                        ):
                            await rows.webhook_deliveries.remove(webhook_id, delivery.event_id)
            removed += len(old)
        return removed
