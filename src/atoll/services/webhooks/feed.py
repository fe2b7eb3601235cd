"""The feed of one webhook: the log is read page by page, and each stream is posted in its order.

A page's streams are posted beside each other. One whose event fails, or that is slow, is left
behind for `retries`, and the cursor moves on when every other event of the page is delivered. A
feed that is cancelled leaves behind what it had not posted, so that nothing is posted twice.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from atoll.domain.event import Event, Gap
from atoll.domain.webhooks.delivery import MAX_HELD, MAX_UNFINISHED
from atoll.domain.webhooks.signature import body_of
from atoll.domain.webhooks.webhook import Webhook, WebhookId
from atoll.ports import EventQuery, Transaction
from atoll.ports.store.webhooks import KeptWebhook
from atoll.services.ground import Ground
from atoll.services.webhooks.lifecycle_endings import LifecycleEndings
from atoll.services.webhooks.log import PAGE, reading
from atoll.services.webhooks.outcomes import RETRYING, Behind, WebhookOutcomes
from atoll.services.webhooks.posting import WebhookPosting

PARALLEL = 8
"""Events of one webhook that are posted at a time, each of another stream."""

SLOW = timedelta(seconds=20)
"""The time after which a stream is left behind, so that it holds up no other."""

UNWANTED = 1000
"""Positions that the cursor may lag behind events that the filters dropped: they cost no write."""


@dataclass(slots=True)
class _Progress:
    """Progress of a stream's part of a page: the number of events that were accepted, and the first
    one that is not posted yet (`left`) or that is retried (`failed`)."""

    left: Event | None
    accepted: int = 0
    failed: Event | None = None


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of the log, as the webhook sees it. `left` has of each stream that waits for a retry
    the first event after the one that is retried, `streams` the events of the others."""

    kept: KeptWebhook
    last: int
    full: bool
    gap: Gap | None
    left: Sequence[Event]
    streams: Sequence[Sequence[Event]]


class WebhookFeed:
    """The feed of the webhook with this id."""

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
        self._endings = LifecycleEndings(ground)
        self._slots = asyncio.Semaphore(PARALLEL)
        self._place: tuple[int, int] | None = None
        self._seen = 0
        self._gap_told = 0

    async def run(self) -> None:
        """Post what is appended; never returns. Raises `Unavailable`."""
        only = await self._only_stream()
        with self._ground.bus.listen(only) as listener:
            while True:
                page = await self._page()
                if page is not None:
                    await self._post(page)
                if page is not None and page.full:
                    continue
                if only is not None:
                    await self._endings.end_if_over(self._id)
                await listener.wait()

    async def _only_stream(self) -> str | None:
        """Return the one stream that the webhook reads; None where it reads several."""
        async with self._ground.store.read() as rows:
            record = await rows.webhooks.get(self._id)
        return None if record is None else record.webhook.only_stream

    async def _page(self) -> _Page | None:
        """Return the next page; None when there is nothing new, or too many streams wait."""
        async with self._ground.store.read() as rows:
            record = await rows.webhooks.get(self._id)
            if record is None:
                return None
            self._follow(record.webhook)
            held = await rows.webhook_deliveries.of(
                self._id, states=RETRYING, after=0, limit=MAX_UNFINISHED
            )
            if len(held) >= MAX_HELD:
                return None
            query = await reading(rows, record.webhook)
            events, gap = await self._next_events(rows, query)
            # Judged once more: what was appended after its owner lost the role, or changed the
            # webhook, is judged by what it is since.
            now = await rows.webhooks.get(self._id)
            judged = None if now is None else await reading(rows, now.webhook)
        if now is None or not now.webhook.enabled:
            return None
        if judged is None:
            await self._outcomes.forbidden(now.webhook)
            return None
        if judged != query or not now.webhook.stands_as(record.webhook):
            return await self._page()
        if not events and gap is None:
            return None
        last = self._last_of(events, gap)
        streams: dict[str, list[Event]] = {}
        for event in filter(now.webhook.wants, events):
            streams.setdefault(event.stream, []).append(event)
        waiting = {delivery.stream: delivery.position for delivery in held}
        left = tuple(
            event
            for stream, at in waiting.items()
            for event in [event for event in streams.get(stream, ()) if event.position > at][:1]
        )
        others = [events for stream, events in streams.items() if stream not in waiting]
        return _Page(now, last, len(events) == PAGE, gap, left, others)

    def _last_of(self, events: Sequence[Event], gap: Gap | None) -> int:
        """Return the position that a page ends at; the end of a log that was set back."""
        if gap is not None and gap.set_back:
            return gap.to
        return events[-1].position if events else self._seen

    async def _next_events(
        self, rows: Transaction, query: EventQuery | None
    ) -> tuple[Sequence[Event], Gap | None]:
        """Return the events that follow, and what is gone of them."""
        if query is None:
            return (), None
        events = await rows.events.page(replace(query, after=self._seen, limit=PAGE))
        gap_end = max(self._seen, self._gap_told)
        # After the page: what was removed in between is told of.
        return events, await rows.events.gap(replace(query, after=gap_end))

    def _follow(self, webhook: Webhook) -> None:
        """Begin at the cursor, when its owner moved it or this is the first look."""
        if self._place != (webhook.cursor, webhook.replays):
            self._place = (webhook.cursor, webhook.replays)
            self._seen, self._gap_told = webhook.cursor, 0

    async def _post(self, page: _Page) -> None:
        streams = [(events, _Progress(events[0])) for events in page.streams]
        progress = [stream_progress for _, stream_progress in streams]
        try:
            async with asyncio.TaskGroup() as tasks:
                for events, stream_progress in streams:
                    tasks.create_task(self._post_stream(page, events, stream_progress))
            await self._advance(page, progress)
        except asyncio.CancelledError:
            # Also where this was under way: an advance that was stored makes the next one void.
            await self._advance(page, progress)
            raise

    async def _advance(self, page: _Page, streams: Sequence[_Progress]) -> None:
        webhook = page.kept.webhook
        wanted = page.gap is not None or page.left or streams
        if wanted or page.last - webhook.cursor >= UNWANTED:
            behind = Behind(
                left=(*page.left, *(progress.left for progress in streams if progress.left)),
                failed=tuple(progress.failed for progress in streams if progress.failed),
            )
            accepted = sum(progress.accepted for progress in streams)
            await self._outcomes.advance_cursor(
                webhook, page.last, behind=behind, accepted=accepted, gap=page.gap
            )
            # Where its owner moved the cursor meanwhile, the next poll begins at the new one.
            self._place = (page.last, webhook.replays)
        self._seen = page.last
        if page.gap is not None:
            self._gap_told = page.gap.to

    async def _post_stream(self, page: _Page, events: Sequence[Event], progress: _Progress) -> None:
        """Post events of one stream in their order, up to the first that has to wait."""
        record = page.kept
        async with self._slots:
            until = self._ground.clock.now() + SLOW
            for event in events:
                progress.left = event
                if self._ground.clock.now() >= until:
                    return
                failure = await self._posting.send(record, event.id, body_of(event))
                if failure is None:
                    progress.accepted += 1
                elif await self._outcomes.failed_first(record.webhook, event, failure):
                    progress.left, progress.failed = None, event
                    return
            progress.left = None
