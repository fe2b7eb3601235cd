"""What happens to a webhook while a page of its log is under way."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from atoll.adapters.storage.events import SqlEventRows
from atoll.adapters.storage.webhooks import SqlWebhookDeliveryRows
from atoll.domain.errors import Unavailable
from atoll.domain.event import Event
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.webhooks.delivery import UNFINISHED, Delivery, Receipt
from atoll.ports import EventQuery
from atoll.services.webhooks.feed import SLOW, WebhookFeed
from atoll.services.webhooks.outcomes import WebhookOutcomes
from atoll.services.webhooks.posting import WebhookPosting
from atoll.services.webhooks.webhooks import WebhookChange
from atoll.testing import FakeWebhookSender, VirtualClock
from tests.services.webhooks.scene import hook_scene

URL = "https://hooks.example/in"
OTHER = "https://hooks.example/other"
A, B = "sandbox:a", "sandbox:b"


class Gated(FakeWebhookSender):
    """A sender that holds the requests of streams in `held` until they are `released`, and fails
    the first request of those in `failing`. Each request takes `seconds` of virtual time."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()
        self.failing: set[str] = set()
        self.holds = asyncio.Event()
        self.released = asyncio.Event()
        self.clock: VirtualClock | None = None
        self.seconds = 0.0
        self.accepted: list[tuple[str, int]] = []
        self._changed = asyncio.Condition()

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """See the port."""
        data = json.loads(body)["data"]
        stream = data["stream"]
        if stream in self.failing:
            self.failing.discard(stream)
            raise Unavailable("not yet")
        if stream in self.held:
            self.holds.set()
            await self.released.wait()
        if self.clock is not None:
            self.clock.turn(self.seconds)
        async with self._changed:
            self.accepted.append((stream, data["seq"]))
            self._changed.notify_all()
        return await super().send(url, headers, body)

    async def took_all(self, *wanted: tuple[str, int]) -> None:
        """Return once these were accepted."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: set(wanted) <= set(self.accepted))

    def of(self, stream: str) -> list[int]:
        """The numbers of a stream's events, in the order they were accepted."""
        return [seq for name, seq in self.accepted if name == stream]


async def test_retry_that_ends_before_its_page_leaves_the_stream_to_go_on() -> None:
    sender = Gated()
    async with hook_scene(sender) as (at, _), at.working():
        at.chance[0] = 0
        await at.endpoints.create(LOCAL_PERSON, URL)
        sender.failing.add(A)
        sender.held.add(B)
        await at.append([A, B, A, A])
        await sender.took_all((A, 1))
        assert sender.of(A) == [1]
        sender.released.set()
        await sender.took_all((B, 1), (A, 3))
        assert sender.of(A) == [1, 2, 3]
        await at.append([A])
        await sender.took_all((A, 4))
        assert sender.of(A) == [1, 2, 3, 4]


async def test_replay_amid_a_page_sends_everything_again() -> None:
    sender = Gated()
    async with hook_scene(sender) as (at, _), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, URL)
        sender.failing.add(A)
        sender.held.add(B)
        start = report.webhook.cursor
        await at.append([A, B, A])
        await at.until(report, retrying=1)
        # To where it is: the page under way is void nevertheless, as its delivery is gone.
        await at.deliveries.replay_from(LOCAL_PERSON, report.webhook.id, start)
        sender.released.set()
        await sender.took_all((A, 1), (A, 2), (B, 1))
        assert sender.of(A) == [1, 2]
        assert sender.of(B) == [1, 1]


async def test_slow_stream_is_left_behind_and_comes_in_its_order() -> None:
    sender = Gated()
    async with hook_scene(sender) as (at, _), at.working():
        sender.clock, sender.seconds = at.clock, SLOW.total_seconds()
        report, _ = await at.endpoints.create(LOCAL_PERSON, URL)
        await at.append([A, A, A, B])
        await sender.took_all((A, 3), (B, 1))
        assert sender.of(A) == [1, 2, 3]
        after = await at.until(report, retrying=0)
        assert after.webhook.failure is None


async def test_webhook_that_is_removed_or_turned_off_amid_a_delivery_ends_quietly() -> None:
    sender = Gated()
    async with hook_scene(sender) as (at, _), at.working():
        one, _ = await at.endpoints.create(LOCAL_PERSON, URL, streams=(A,))
        two, _ = await at.endpoints.create(LOCAL_PERSON, URL, streams=(B,))
        sender.held.update((A, B))
        await at.append([A, B])
        await at.endpoints.remove(LOCAL_PERSON, one.webhook.id)
        await at.endpoints.change(LOCAL_PERSON, two.webhook.id, WebhookChange(enabled=False))
        sender.released.set()
        await at.endpoints.change(LOCAL_PERSON, two.webhook.id, WebhookChange(enabled=True))
        await sender.took_all((B, 1))
        assert [found.webhook.id for found in await at.endpoints.list(LOCAL_PERSON)] == [
            two.webhook.id
        ]


async def test_enabled_webhook_retries_at_once() -> None:
    sender = Gated()
    async with hook_scene(sender) as (at, _), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, URL)
        sender.failing.add(A)
        await at.append([A])
        held = await at.until(report, retrying=1)
        (delivery,) = await at.deliveries.list(LOCAL_PERSON, report.webhook.id)
        assert delivery.next_at == at.clock.now() + timedelta(seconds=10)
        for on in (False, True):
            change = WebhookChange(enabled=on)
            await at.endpoints.change(LOCAL_PERSON, held.webhook.id, change)
        await sender.took_all((A, 1))


@contextmanager
def amid_a_page(act: Callable[[], Awaitable[object]]) -> Iterator[None]:
    """Do something between two reads of the next page of the log."""
    page = SqlEventRows.page
    to_do = [act]

    async def read(rows: SqlEventRows, query: EventQuery) -> list[Event]:
        while to_do:
            await to_do.pop()()
        return await page(rows, query)

    with patch.object(SqlEventRows, "page", read):
        yield


async def test_retry_that_ends_while_deliveries_are_read_is_not_posted_again() -> None:
    sender = Gated()
    async with hook_scene(sender) as (at, _), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, URL)
        sender.failing.add(A)
        await at.append([A])
        await at.until(report, retrying=1)
        sender.held.add(A)
        at.clock.turn(10)
        await sender.holds.wait()
        found_before = SqlWebhookDeliveryRows.of
        ended = asyncio.Event()

        async def of(rows: SqlWebhookDeliveryRows, *given: Any, **more: Any) -> list[Delivery]:
            found = await found_before(rows, *given, **more)
            if more["states"] == UNFINISHED and not sender.released.is_set():
                with at.ground.bus.listen(report.webhook.stream) as over:
                    sender.released.set()
                    await over.wait()
                ended.set()
            return found

        with patch.object(SqlWebhookDeliveryRows, "of", of):
            at.ground.bus.announce((report.webhook.stream,))
            await ended.wait()
        await at.append([A])
        await sender.took_all((A, 2))
        assert sender.of(A) == [1, 2]


async def test_event_after_a_change_amid_a_page_is_judged_by_the_new_filters() -> None:
    sender = Gated()
    async with hook_scene(sender) as (at, _), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, URL, streams=(A,))

        async def turned_to_b() -> None:
            change = WebhookChange(url=OTHER, streams=(B,))
            await at.endpoints.change(LOCAL_PERSON, report.webhook.id, change)
            await at.append([A, B])

        with amid_a_page(turned_to_b):
            at.ground.bus.announce((A,))
            await sender.took_all((B, 1))
        assert sender.accepted == [(B, 1)]
        assert set(sender.sent) == {OTHER}


async def test_event_after_the_webhook_was_turned_off_amid_a_page_waits() -> None:
    sender = Gated()
    # Without the worker, which ends a feed as soon as it sees that its webhook is off.
    async with hook_scene(sender) as (at, _), asyncio.TaskGroup() as tasks:
        report, _ = await at.endpoints.create(LOCAL_PERSON, URL)
        off, on = WebhookChange(enabled=False), WebhookChange(enabled=True, url=OTHER)
        appended = asyncio.Event()

        async def turned_off() -> None:
            await at.endpoints.change(LOCAL_PERSON, report.webhook.id, off)
            await at.append([A])
            appended.set()

        posting = WebhookPosting(at.ground, at.vault, sender)
        outcomes = WebhookOutcomes(at.ground, lambda: 1.0)
        feed = WebhookFeed(report.webhook.id, at.ground, posting, outcomes=outcomes)
        with amid_a_page(turned_off):
            running = tasks.create_task(feed.run())
            await appended.wait()
            await at.endpoints.change(LOCAL_PERSON, report.webhook.id, on)
            await sender.took_all((A, 1))
        running.cancel()
        assert set(sender.sent) == {OTHER}
