"""The end of dead letters, which have copies of messages."""

from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.webhook.delivery import MAX_DEAD, is_old
from atoll.services.ground import Ground
from atoll.wire.words.webhooks import DeliveryState

LOOK = timedelta(hours=1)

_DEAD = frozenset({DeliveryState.DEAD})
_log = structlog.get_logger(__name__)


class WebhookAging:
    """The removal of old dead letters of all webhooks, once an hour."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def run(self) -> None:
        """Remove at intervals; never returns."""
        clock = self._ground.clock
        while True:
            await clock.sleep_until(clock.now() + LOOK)
            try:
                await self.sweep()
            except AtollError as error:
                _log.warning("dead_letters_not_removed", reason=error.message)
            except Exception:  # noqa: BLE001 - the task's root
                _log.exception("dead_letters_broke")

    async def sweep(self) -> int:
        """Remove what is too old now. Returns how many dead letters that were."""
        removed, now = 0, self._ground.clock.now()
        async with self._ground.store.read() as rows:
            found = await rows.webhooks.everything()
        for webhook_id in [kept.webhook.id for kept in found]:
            async with self._ground.store.read() as rows:
                dead = await rows.webhook_deliveries.of(
                    webhook_id, states=_DEAD, after=0, limit=2 * MAX_DEAD
                )
            old = [one for one in dead if is_old(one, now)]
            if old:
                async with self._ground.store.begin() as rows:
                    for one in old:
                        # Unless its owner sends it again meanwhile.
                        if await rows.webhook_deliveries.get(webhook_id, one.event_id) == one:
                            await rows.webhook_deliveries.remove(webhook_id, one.event_id)
            removed += len(old)
        return removed
