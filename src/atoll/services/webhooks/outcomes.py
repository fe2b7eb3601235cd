"""Outcomes of attempts: each is one transaction, with the events that report it.

Every transaction compares what it knew with what is there. A webhook that was removed, or whose
cursor its owner moved meanwhile, takes no outcome of what went before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.domain.event import Event, Gap, Json
from atoll.domain.webhooks.delivery import (
    MAX_UNFINISHED,
    Delivery,
    Failure,
    after_attempt,
    after_failure,
    is_told,
    new_delivery,
    with_copy,
)
from atoll.domain.webhooks.signature import body_of
from atoll.domain.webhooks.webhook import Webhook, WebhookId, after_success, disable_webhook
from atoll.ports import Transaction
from atoll.ports.store.webhooks import KeptWebhook
from atoll.services.ground import Ground
from atoll.services.webhooks.log import NOT_ALLOWED, WebhookLog
from atoll.wire.words.webhooks import DeliveryState

RETRYING = frozenset({DeliveryState.RETRYING})


@dataclass(frozen=True, slots=True)
class Behind:
    """The streams that are behind a page of the log: by the first event that was not posted, or by
    the one that failed and has a delivery since."""

    left: Sequence[Event] = ()
    failed: Sequence[Event] = ()


class WebhookOutcomes:
    """Results of attempts, in the store. `chance` returns random numbers in 0 to 1."""

    def __init__(self, ground: Ground, chance: Callable[[], float]) -> None:
        self._ground = ground
        self._log = WebhookLog(ground)
        self._chance = chance

    async def advance_cursor(
        self, read: Webhook, to: int, *, behind: Behind, accepted: int, gap: Gap | None
    ) -> None:
        """Move the cursor that `read` had past events that were delivered or given up."""
        async with self._ground.store.begin() as rows:
            record = await rows.webhooks.get(read.id)
            if record is None or not record.webhook.stands_as(read):
                return
            webhook = replace(record.webhook, cursor=to)
            if accepted:
                webhook = after_success(webhook, self._ground.clock.now())
            await rows.webhooks.put(replace(record, webhook=webhook))
            await self._leave(rows, webhook, behind)
            if gap is not None:
                payload: Mapping[str, Json] = {"after": gap.after, "up_to": gap.to}
                await self._log.append(rows, webhook, "webhook.skipped", payload=payload)
        if behind.left or behind.failed or gap is not None:
            self._log.announce(read)

    async def _leave(self, rows: Transaction, webhook: Webhook, behind: Behind) -> None:
        """Let each stream that is behind go on by a delivery of its own. One whose retry ended
        while the page was read has none any more."""
        held = await rows.webhook_deliveries.of(
            webhook.id, states=RETRYING, after=0, limit=MAX_UNFINISHED
        )
        streams = {delivery.stream for delivery in held}
        now = self._ground.clock.now()
        for event in behind.left:
            if event.stream not in streams:
                await rows.webhook_deliveries.put(new_delivery(webhook.id, event, now))
        for event in behind.failed:
            if event.stream not in streams:
                await self._go_on(rows, webhook, event)

    async def failed_first(self, read: Webhook, event: Event, failure: Failure) -> bool:
        """Note that the first attempt of an event failed. Returns whether its stream waits now."""
        async with self._ground.store.begin() as rows:
            record = await rows.webhooks.get(read.id)
            if record is None or not record.webhook.stands_as(read):
                return True
            first = new_delivery(read.id, event, self._ground.clock.now())
            first = with_copy(first, body_of(event))
            tried, webhook = await self._fail(rows, record, first, failure)
        self._announce(webhook)
        return tried.state is not DeliveryState.DEAD

    async def failed_again(
        self, delivery: Delivery, failure: Failure, message: bytes | None = None
    ) -> None:
        """Note that another attempt to send a message failed. After the last one the stream goes
        on."""
        async with self._ground.store.begin() as rows:
            record = await self._find_unchanged_webhook(rows, delivery)
            if record is None:
                return
            known = delivery if message is None else with_copy(delivery, message)
            tried, webhook = await self._fail(rows, record, known, failure)
            if tried.state is DeliveryState.DEAD and delivery.state is DeliveryState.RETRYING:
                await self._go_on(rows, webhook, delivery)
        self._announce(webhook)

    async def delivered(self, delivery: Delivery) -> None:
        """Note that a retry or a replay succeeded. A stream that waited goes on."""
        async with self._ground.store.begin() as rows:
            record = await self._find_unchanged_webhook(rows, delivery)
            if record is None:
                return
            webhook = after_success(record.webhook, self._ground.clock.now())
            await rows.webhooks.put(replace(record, webhook=webhook))
            await rows.webhook_deliveries.remove(webhook.id, delivery.event_id)
            if delivery.state is DeliveryState.RETRYING:
                await self._go_on(rows, webhook, delivery)

    async def forbidden(self, read: Webhook) -> None:
        """Disable a webhook whose owner's role does not allow it any more."""
        async with self._ground.store.begin() as rows:
            record = await rows.webhooks.get(read.id)
            if record is None or not record.webhook.enabled:
                return
            webhook = disable_webhook(record.webhook, NOT_ALLOWED)
            await rows.webhooks.put(replace(record, webhook=webhook))
            counts = await rows.webhook_deliveries.counts(webhook.id)
            payload: Mapping[str, Json] = {"dead": counts.get(DeliveryState.DEAD, 0)}
            await self._log.append(
                rows, webhook, "webhook.disabled", payload=payload, reason=NOT_ALLOWED
            )
        self._log.announce_change(webhook)

    async def _find_unchanged_webhook(
        self, rows: Transaction, delivery: Delivery
    ) -> KeptWebhook | None:
        """Return the webhook, None when it or the delivery changed since the attempt began."""
        webhook_id: WebhookId = delivery.webhook_id
        if await rows.webhook_deliveries.get(webhook_id, delivery.event_id) != delivery:
            return None
        return await rows.webhooks.get(webhook_id)

    async def _go_on(self, rows: Transaction, webhook: Webhook, settled: Delivery | Event) -> None:
        event = await self._log.following(rows, webhook, settled.stream, settled.position)
        if event is not None:
            following = new_delivery(webhook.id, event, self._ground.clock.now())
            await rows.webhook_deliveries.put(following)

    async def _fail(
        self, rows: Transaction, record: KeptWebhook, delivery: Delivery, failure: Failure
    ) -> tuple[Delivery, Webhook]:
        now, before = self._ground.clock.now(), record.webhook
        tried = after_attempt(delivery, failure, now, chance=self._chance())
        await rows.webhook_deliveries.put(tried)
        counts = await rows.webhook_deliveries.counts(before.id)
        dead = counts.get(DeliveryState.DEAD, 0)
        webhook = after_failure(before, failure, now, dead=dead)
        await rows.webhooks.put(replace(record, webhook=webhook))
        if is_told(tried):
            await self._tell(rows, webhook, tried)
        if before.enabled and not webhook.enabled:
            payload: Mapping[str, Json] = {"dead": dead}
            reason = webhook.reason
            await self._log.append(
                rows, webhook, "webhook.disabled", payload=payload, reason=reason
            )
        return tried, webhook

    def _announce(self, webhook: Webhook) -> None:
        if webhook.enabled:
            self._log.announce(webhook)
        else:
            self._log.announce_change(webhook)

    async def _tell(self, rows: Transaction, webhook: Webhook, tried: Delivery) -> None:
        payload: dict[str, Json] = {
            "event_id": tried.event_id,
            "event_stream": tried.stream,
            "event_position": tried.position,
            "attempt": tried.attempts,
        }
        kind = "webhook.dead_lettered"
        if tried.next_at is not None:
            kind, payload["next_at"] = "webhook.failed", tried.next_at.isoformat()
        await self._log.append(rows, webhook, kind, payload=payload, reason=tried.reason)
