"""The retries of one webhook: deliveries that wait, each posted when its turn comes.

The oldest one of a stream comes first, and streams do not wait for each other. When a retry
succeeds, its stream goes on with its next event until it is where the feed is.
"""

import asyncio
from datetime import datetime, timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import EventId
from atoll.domain.webhooks.delivery import MAX_UNFINISHED, UNFINISHED, Delivery, Failure, in_turn
from atoll.domain.webhooks.webhook import WebhookId, webhook_stream
from atoll.ports.bus import Listener
from atoll.services.ground import Ground
from atoll.services.webhooks.lifecycle_endings import LifecycleEndings
from atoll.services.webhooks.log import WebhookLog, reading
from atoll.services.webhooks.outcomes import WebhookOutcomes
from atoll.services.webhooks.posting import WebhookPosting

PARALLEL = 8
AFTER_FAILURE = timedelta(seconds=5)

_log = structlog.get_logger(__name__)


class WebhookRetries:
    """The retries of the webhook with this id."""

    def __init__(
        self,
        webhook_id: WebhookId,
        ground: Ground,
        posting: WebhookPosting,
        *,
        outcomes: WebhookOutcomes,
    ) -> None:
        self._id = webhook_id
        self._ground = ground
        self._posting = posting
        self._outcomes = outcomes
        self._log = WebhookLog(ground)
        self._endings = LifecycleEndings(ground)
        self._slots = asyncio.Semaphore(PARALLEL)
        self._under_way: set[EventId] = set()

    async def run(self) -> None:
        """Post what is due; never returns. Raises `Unavailable`."""
        with self._ground.bus.listen(webhook_stream(self._id)) as listener:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    turns = await self._turns()
                    now = self._ground.clock.now()
                    due = [delivery for delivery, at in turns if at <= now]
                    for delivery in due:
                        self._under_way.add(delivery.event_id)
                        tasks.create_task(self._attempt(delivery))
                    later = [at for _, at in turns if at > now]
                    await self._wait(listener, min(later, default=None))

    async def _turns(self) -> list[tuple[Delivery, datetime]]:
        """Return the deliveries that are not under way and may be posted, with their times. An
        attempt that ends meanwhile leaves a delivery that was read before it: it is announced, and
        the next look has what became of it."""
        under_way = frozenset(self._under_way)
        async with self._ground.store.read() as rows:
            deliveries = await rows.webhook_deliveries.of(
                self._id, states=UNFINISHED, after=0, limit=MAX_UNFINISHED
            )
        return [
            (delivery, delivery.next_at)
            for delivery in in_turn(deliveries)
            if delivery.next_at is not None and delivery.event_id not in under_way
        ]

    async def _wait(self, listener: Listener, at: datetime | None) -> None:
        """Return once something changed, or at a time."""
        async with asyncio.TaskGroup() as tasks:
            waits: set[asyncio.Task[None]] = {tasks.create_task(listener.wait())}
            if at is not None:
                waits.add(tasks.create_task(self._ground.clock.sleep_until(at)))
            _, asleep = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in asleep:
                task.cancel()

    async def _attempt(self, delivery: Delivery) -> None:
        try:
            async with self._slots:
                await self._post(delivery)
        except AtollError as error:
            _log.warning("webhook_retry_not_stored", webhook=self._id, reason=error.message)
            await self._pause()
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("webhook_retry_broke", webhook=self._id)
            await self._pause()
        finally:
            self._under_way.discard(delivery.event_id)
            self._ground.bus.announce((webhook_stream(self._id),))

    async def _post(self, delivery: Delivery) -> None:
        async with self._ground.store.read() as rows:
            record = await rows.webhooks.get(self._id)
            if record is None or not record.webhook.enabled:
                return
            allowed = await reading(rows, record.webhook) is not None
            message = await self._log.message(rows, record.webhook, delivery)
        if not allowed:
            await self._outcomes.forbidden(record.webhook)
            return
        failure: Failure | None = Failure("The event is no longer kept.", final=True)
        if message is not None:
            failure = await self._posting.send(record, delivery.event_id, message)
        if failure is None:
            await self._outcomes.delivered(delivery)
        else:
            await self._outcomes.failed_again(delivery, failure, message)
        await self._endings.end_if_over(self._id)

    async def _pause(self) -> None:
        await self._ground.clock.sleep_until(self._ground.clock.now() + AFTER_FAILURE)
