"""The log as webhooks read and write it: the next event of a stream, and events about a webhook."""

from collections.abc import Mapping

from atoll.domain.event import Event, EventDraft, Json
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.webhook.webhook import Webhook
from atoll.ports import EventQuery, Transaction
from atoll.services.ground import Ground

WEBHOOKS = "webhooks"
"""The name under which changes of webhooks are announced; no event has this stream."""

PAGE = 100


class WebhookLog:
    """The events that webhooks read, and those about them."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def append(
        self,
        rows: Transaction,
        webhook: Webhook,
        kind: str,
        *,
        payload: Mapping[str, Json] | None = None,
        reason: str | None = None,
        actor: Principal = SYSTEM,
    ) -> Event:
        """Append an event about a webhook, for its owner. Announce it after the transaction."""
        draft = EventDraft(
            id=self._ground.ids.event(),
            stream=webhook.stream,
            event_type=kind,
            at=self._ground.clock.now(),
            org_id=webhook.org_id,
            owner=webhook.owner,
            actor=actor,
            reason=reason,
            payload={"webhook_id": webhook.id, "host": webhook.host, **(payload or {})},
        )
        (event,) = await rows.events.append((draft,))
        return event

    def announce(self, webhook: Webhook) -> None:
        """Wake what serves this webhook, and what follows its stream."""
        self._ground.bus.announce((webhook.stream,))

    def announce_change(self, webhook: Webhook) -> None:
        """Wake the worker, too: a webhook is new, enabled, disabled or removed."""
        self._ground.bus.announce((webhook.stream, WEBHOOKS))

    async def at(self, rows: Transaction, webhook: Webhook, position: int) -> Event | None:
        """Return the event at a position of the log; None when it is no longer kept."""
        query = EventQuery(webhook.org_id, webhook.owner, after=position - 1, limit=1)
        found = await rows.events.page(query)
        return next((one for one in found if one.position == position), None)

    async def following(
        self, rows: Transaction, webhook: Webhook, stream: str, after: int
    ) -> Event | None:
        """Return the first event of a stream after a position that the webhook wants, of those up
        to its cursor."""
        while after < webhook.cursor:
            query = EventQuery(webhook.org_id, webhook.owner, stream, after=after, limit=PAGE)
            page = await rows.events.page(query)
            for event in page:
                if event.position <= webhook.cursor and webhook.wants(event):
                    return event
            if len(page) < PAGE:
                return None
            after = page[-1].position
        return None
