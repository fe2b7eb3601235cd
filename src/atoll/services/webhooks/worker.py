"""The worker of webhooks: a feed and retries for each that is enabled.

Without webhooks it waits for the first one and reads nothing. It keeps nothing that the database
does not have: a worker that starts after a crash goes on where the cursors are.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.webhooks.webhook import WebhookId
from atoll.services.ground import Ground
from atoll.services.webhooks.aging import WebhookAging
from atoll.services.webhooks.deliveries import WebhookDeliveries
from atoll.services.webhooks.feed import WebhookFeed
from atoll.services.webhooks.lifecycle_webhooks import LifecycleWebhooks
from atoll.services.webhooks.log import WEBHOOKS
from atoll.services.webhooks.outcomes import WebhookOutcomes
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.retries import WebhookRetries
from atoll.services.webhooks.webhooks import Webhooks

AFTER_FAILURE = timedelta(seconds=5)

_log = structlog.get_logger(__name__)


class WebhookWorker:
    """The worker. `chance` returns random numbers in 0 to 1, for the waits between attempts."""

    def __init__(
        self,
        ground: Ground,
        posting: WebhookPosting,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._ground = ground
        self._posting = posting
        self._outcomes = WebhookOutcomes(ground, chance)

    async def run(self) -> None:
        """Serve every enabled webhook; never returns."""
        with self._ground.bus.listen(WEBHOOKS) as listener:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(WebhookAging(self._ground).run())
                served: dict[WebhookId, asyncio.Task[None]] = {}
                while True:
                    try:
                        wanted = await self._read_enabled_ids()
                    except AtollError as error:
                        _log.warning("webhooks_not_read", reason=error.message)
                        await self._pause()
                        continue
                    await _end_tasks([served.pop(gone) for gone in served.keys() - wanted])
                    for new in wanted - served.keys():
                        served[new] = tasks.create_task(self._serve(new))
                    await listener.wait()

    async def _read_enabled_ids(self) -> set[WebhookId]:
        """Return the ids of all enabled webhooks."""
        async with self._ground.store.read() as rows:
            records = await rows.webhooks.everything()
        return {record.webhook.id for record in records if record.webhook.enabled}

    async def _serve(self, webhook_id: WebhookId) -> None:
        parts = (webhook_id, self._ground, self._posting)
        feed = WebhookFeed(*parts, outcomes=self._outcomes)
        retries = WebhookRetries(*parts, outcomes=self._outcomes)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._kept_up(feed.run))
            tasks.create_task(self._kept_up(retries.run))

    async def _kept_up(self, part: Callable[[], Awaitable[None]]) -> None:
        """Run a part for ever, also after it failed."""
        while True:
            try:
                await part()
            except* AtollError as errors:
                _log.warning("webhook_not_served", reason=str(errors.exceptions[0]))
            except* Exception:  # noqa: BLE001 - the task's root
                _log.exception("webhook_broke")
            await self._pause()

    async def _pause(self) -> None:
        await self._ground.clock.sleep_until(self._ground.clock.now() + AFTER_FAILURE)


async def _end_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks and return once they are over: each stores how far it came, and a webhook that
    is enabled again begins there."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


@dataclass(frozen=True, slots=True)
class WebhookServices:
    """Use cases on webhooks, those of sandboxes and their deliveries, and the worker that posts."""

    endpoints: Webhooks
    lifecycle: LifecycleWebhooks
    deliveries: WebhookDeliveries
    worker: WebhookWorker
