"""The log as webhooks read and write it: the next event of a stream, and events about a webhook."""

from collections.abc import Mapping
from dataclasses import replace

from atoll.domain.event import Event, EventDraft, Json
from atoll.domain.ids import EVERY_MEMBER
from atoll.domain.people.capability import Capability, capabilities_of
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.webhooks.delivery import Delivery
from atoll.domain.webhooks.signature import body_of
from atoll.domain.webhooks.webhook import Webhook, WebhookId, webhook_stream
from atoll.ports import EventQuery, Transaction
from atoll.services.ground import Ground
from atoll.services.webhooks.named_streams import may_read
from atoll.wire.words.webhooks import WebhookScope

WEBHOOKS = "webhooks"
"""The name under which changes of webhooks are announced; no event has this stream."""

PAGE = 100

_OWN = frozenset({Capability.EVENT_READ, Capability.WEBHOOK_MANAGE})
_NEEDED = {WebhookScope.OWN: _OWN, WebhookScope.ORGANIZATION: _OWN | {Capability.ORG_MANAGE}}
"""The capabilities that the role of a webhook's owner must have, for it to receive events."""

NOT_ALLOWED = "Its owner's role in the organization does not allow it any more."


MAX_PAGES = 50
"""Pages that are looked at for an event that waits; the cursor is never further behind than the
events of these."""


async def reading(rows: Transaction, webhook: Webhook) -> EventQuery | None:
    """Return the query for what a webhook reads, by the role that its owner has now; None where
    that role allows none of it."""
    organization = webhook.scope is WebhookScope.ORGANIZATION
    only = webhook.only_stream
    if await rows.organizations.get(webhook.org_id) is None:
        return None if organization else EventQuery(webhook.org_id, webhook.owner, only)
    member = await rows.members.get(webhook.org_id, webhook.owner)
    if member is None or not _NEEDED[webhook.scope] <= capabilities_of(member.role):
        return None
    owner = EVERY_MEMBER if organization else webhook.owner
    return EventQuery(webhook.org_id, owner, only, team=True)


async def first_unread(rows: Transaction, webhook: Webhook) -> int | None:
    """Return the position of the first event that waits for a webhook; None when there is none."""
    query, after = await reading(rows, webhook), webhook.cursor
    if query is None:
        return None
    for _ in range(MAX_PAGES):
        page = await rows.events.page(replace(query, after=after, limit=PAGE))
        for event in filter(webhook.wants, page):
            return event.position
        if len(page) < PAGE:
            return None
        after = page[-1].position
    return after + 1


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
        self._ground.bus.announce(_waiting_for(webhook))

    def announce_new(self, webhook_id: WebhookId) -> None:
        """Wake the worker: there is a webhook of this id."""
        self._ground.bus.announce((webhook_stream(webhook_id), WEBHOOKS))

    def announce_change(self, webhook: Webhook) -> None:
        """Wake the worker, too: a webhook is new, enabled, disabled or removed."""
        self._ground.bus.announce((*_waiting_for(webhook), WEBHOOKS))

    async def message(
        self, rows: Transaction, webhook: Webhook, delivery: Delivery
    ) -> bytes | None:
        """Return the message of a delivery: of the event, or where that was removed the copy; None
        when there is neither, or the webhook may not read it any more."""
        query, place = await reading(rows, webhook), delivery.position
        if query is None:
            return None
        for event in await rows.events.page(replace(query, after=place - 1, limit=1)):
            if event.position == place:
                return body_of(event)
        there = await rows.events.after(place - 1, 1)
        removed = not there or there[0].position != place
        if not removed or not await may_read(rows, query, delivery.stream):
            return None
        return None if delivery.copy is None else delivery.copy.encode()

    async def following(
        self, rows: Transaction, webhook: Webhook, stream: str, after: int
    ) -> Event | None:
        """Return the first event of a stream after a position that the webhook wants, of those up
        to its cursor."""
        query = await reading(rows, webhook)
        while query is not None and after < webhook.cursor:
            page = await rows.events.page(replace(query, stream=stream, after=after, limit=PAGE))
            for event in page:
                if event.position <= webhook.cursor and webhook.wants(event):
                    return event
            if len(page) < PAGE:
                return None
            after = page[-1].position
        return None


def _waiting_for(webhook: Webhook) -> tuple[str, ...]:
    """Return the streams of whose announcements a webhook's feed and retries wait."""
    only = webhook.only_stream
    return (webhook.stream,) if only is None else (webhook.stream, only)
