"""Deliveries of webhooks, as their owners see them, send them again, and drop them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.domain.event import Gap, Json
from atoll.domain.people.principal import Principal
from atoll.domain.webhooks.delivery import MAX_DEAD, Delivery, replay_delivery
from atoll.domain.webhooks.webhook import Webhook, moved_back
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.webhooks.log import WebhookLog, reading
from atoll.services.webhooks.webhooks import check_person, find_own_webhook
from atoll.wire.words.webhooks import DeliveryState

ALL = frozenset(DeliveryState)
DEAD = frozenset({DeliveryState.DEAD})
MAX_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Replay:
    """Result of a replay: how many dead letters are sent again, or the position after which
    everything is, and the part of that which is no longer kept."""

    deliveries: int
    after: int | None = None
    gap: Gap | None = None


class WebhookDeliveries:
    """The deliveries of the caller's webhooks. Every method raises `NotFound`."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._log = WebhookLog(ground)

    async def list(
        self,
        caller: Principal,
        webhook_id: str,
        *,
        state: DeliveryState | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[Delivery]:
        """Return at most 1000 deliveries after a position, by position. What was accepted has
        none."""
        states = ALL if state is None else frozenset({state})
        bound = max(1, min(limit, MAX_LIMIT))
        async with self._ground.store.read() as rows:
            webhook = (await find_own_webhook(rows, caller, webhook_id)).webhook
            return await rows.webhook_deliveries.of(
                webhook.id, states=states, after=after, limit=bound
            )

    async def replay(
        self, caller: Principal, webhook_id: str, event_id: str | None = None
    ) -> Replay:
        """Send one dead letter again, or all of them; nothing waits for them. Raises `Conflict`
        for an event that is retried already."""
        check_person(caller)
        async with self._ground.store.begin() as rows:
            webhook = (await find_own_webhook(rows, caller, webhook_id)).webhook
            chosen = await self._dead(rows, webhook, event_id)
            now = self._ground.clock.now()
            for delivery in chosen:
                await rows.webhook_deliveries.put(replay_delivery(delivery, now))
            payload: dict[str, Json] = {"deliveries": len(chosen)}
            if event_id is not None:
                payload["event_id"] = event_id
            if chosen:
                await self._log.append(
                    rows, webhook, "webhook.replayed", payload=payload, actor=caller
                )
        self._log.announce(webhook)
        return Replay(len(chosen))

    async def replay_from(self, caller: Principal, webhook_id: str, after: int) -> Replay:
        """Send every event after a position again, in order, also what was delivered. Raises
        `Invalid` for a position that the webhook has not reached."""
        check_person(caller)
        async with self._ground.store.begin() as rows:
            record = await find_own_webhook(rows, caller, webhook_id)
            webhook = record.webhook
            if after > webhook.cursor:
                raise Invalid(
                    f"The webhook is at position {webhook.cursor}: what follows is sent anyway.",
                    field="after",
                )
            await rows.webhooks.put(replace(record, webhook=moved_back(webhook, after)))
            await rows.webhook_deliveries.remove_after(webhook.id, after, states=ALL)
            query = await reading(rows, webhook)
            gap = None if query is None else await rows.events.gap(replace(query, after=after))
            payload: dict[str, Json] = {"after": after}
            await self._log.append(rows, webhook, "webhook.replayed", payload=payload, actor=caller)
        self._log.announce(webhook)
        return Replay(0, after, gap)

    async def drop(self, caller: Principal, webhook_id: str) -> int:
        """Drop all dead letters; returns their number. Their events stay in the log."""
        check_person(caller)
        async with self._ground.store.begin() as rows:
            webhook = (await find_own_webhook(rows, caller, webhook_id)).webhook
            return await rows.webhook_deliveries.remove_after(webhook.id, 0, states=DEAD)

    async def _dead(
        self, rows: Transaction, webhook: Webhook, event_id: str | None
    ) -> Sequence[Delivery]:
        if event_id is None:
            return await rows.webhook_deliveries.of(
                webhook.id, states=DEAD, after=0, limit=2 * MAX_DEAD
            )
        delivery = await rows.webhook_deliveries.get(webhook.id, event_id)
        if delivery is None:
            raise NotFound(f"The webhook has no dead letter {event_id[:80]!r}: list them to see.")
        if delivery.state is not DeliveryState.DEAD:
            raise Conflict(f"The event {event_id[:80]} is sent again already.")
        return [delivery]
