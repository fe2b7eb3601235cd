"""The contracts of a Bus, of LiveChannels and of an EventSink.

Subclass `BusContract` in a test module and give it the fixture `bus`, `LiveChannelsContract` with
`channels`, `EventSinkContract` with `sink`, whose stream is new.
"""

import asyncio
from dataclasses import replace

import pytest

from atoll.domain.errors import AtollError, Conflict, Invalid, LimitReached
from atoll.domain.event import Event
from atoll.domain.ids import EventId, OrgId
from atoll.domain.live import (
    BURST_BYTES,
    MAX_CHANNEL_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_QUEUED,
    MAX_SUBSCRIPTIONS,
)
from atoll.domain.outbox import Tip
from atoll.ports.bus import Bus, Listener, LiveChannels, LiveSubscription, Missed
from atoll.ports.senders.event_sink import EventSink
from atoll.testing.samples import NOW

QUIET_SECONDS = 0.05
PATIENCE_SECONDS = 5.0


async def wait_woken(listener: Listener, seconds: float = PATIENCE_SECONDS) -> None:
    """Return once the listener is woken. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        await listener.wait()


class BusContract:
    """Contract of a bus: no announcement is lost between listening and waiting; many of them wake
    once."""

    async def test_listener_is_woken_by_its_stream_and_one_of_all_by_each(self, bus: Bus) -> None:
        with bus.listen("a") as listener, bus.listen() as every:
            bus.announce(("b",))
            await wait_woken(every)
            with pytest.raises(TimeoutError):
                await wait_woken(listener, QUIET_SECONDS)
            bus.announce(("a", "b"))
            await wait_woken(listener)
            await wait_woken(every)

    async def test_announcement_before_waiting_is_not_lost_and_many_are_one(self, bus: Bus) -> None:
        with bus.listen("a") as listener:
            for _ in range(100):
                bus.announce(("a",))
            await wait_woken(listener)
            with pytest.raises(TimeoutError):
                await wait_woken(listener, QUIET_SECONDS)

    async def test_announcement_without_a_listener_is_forgotten(self, bus: Bus) -> None:
        bus.announce(("a",))
        with bus.listen("a") as listener:
            with pytest.raises(TimeoutError):
                await wait_woken(listener, QUIET_SECONDS)
            bus.announce(iter(("a",)))
            await wait_woken(listener)

    async def test_each_listener_of_a_stream_is_woken(self, bus: Bus) -> None:
        with bus.listen("a") as first, bus.listen("a") as two:
            bus.announce(("a",))
            await wait_woken(first)
            await wait_woken(two)

    async def test_cancelled_wait_loses_no_announcement(self, bus: Bus) -> None:
        with bus.listen("a") as listener:
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(listener.wait())
                await asyncio.sleep(0)
                waiting.cancel()
            bus.announce(("a",))
            await wait_woken(listener)

    @pytest.mark.parametrize("name", ["", "*", "a:b", "a\0", "x" * 5000])
    async def test_name_is_only_itself(self, bus: Bus, name: str) -> None:
        with bus.listen(name) as odd, bus.listen("a") as plain:
            bus.announce(("a",))
            await wait_woken(plain)
            with pytest.raises(TimeoutError):
                await wait_woken(odd, QUIET_SECONDS)
            bus.announce((name,))
            await wait_woken(odd)
            with pytest.raises(TimeoutError):
                await wait_woken(plain, QUIET_SECONDS)


ORG, OTHER_ORG = OrgId("acme"), OrgId("acm")


async def receive_next(subscription: LiveSubscription, seconds: float = PATIENCE_SECONDS) -> object:
    """Return the next message or marker. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        return await subscription.receive()


class LiveChannelsContract:
    """Contract of live channels: each organization's own, in order, bounded, never waited for."""

    async def test_subscribers_receive_in_order_what_follows(self, channels: LiveChannels) -> None:
        channels.publish(ORG, "a", b"before")
        with channels.subscribe(ORG, "a") as first, channels.subscribe(ORG, "a") as two:
            for payload in (b"1", b"", bytes(MAX_PAYLOAD_BYTES)):
                channels.publish(ORG, "a", payload)
            for each in (first, two):
                assert await receive_next(each) == b"1"
                assert await receive_next(each) == b""
                assert await receive_next(each) == bytes(MAX_PAYLOAD_BYTES)
            with pytest.raises(TimeoutError):
                await receive_next(first, QUIET_SECONDS)

    @pytest.mark.parametrize("name", ["", "*", ">", "a.b", "a\0 \r\n", "ä" * 128, "\ud800"])
    async def test_channel_is_only_itself(self, channels: LiveChannels, name: str) -> None:
        # Written together, organization and channel of the last one are those of the first.
        with (
            channels.subscribe(ORG, name) as own,
            channels.subscribe(ORG, "plain") as plain,
            channels.subscribe(OTHER_ORG, "e" + name[:100]) as foreign,
        ):
            channels.publish(ORG, "plain", b"plain")
            channels.publish(ORG, name, b"own")
            assert await receive_next(own) == b"own"
            assert await receive_next(plain) == b"plain"
            for each in (own, plain, foreign):
                with pytest.raises(TimeoutError):
                    await receive_next(each, QUIET_SECONDS)

    async def test_slow_subscriber_gets_a_marker_and_then_the_newest(
        self, channels: LiveChannels
    ) -> None:
        with channels.subscribe(ORG, "a") as slow:
            for number in range(MAX_QUEUED + 3):
                channels.publish(ORG, "a", b"%d" % number)
            assert await receive_next(slow) == Missed(MAX_QUEUED)
            assert await receive_next(slow) == b"%d" % MAX_QUEUED
            assert await receive_next(slow) == b"%d" % (MAX_QUEUED + 1)

    async def test_large_messages_are_bounded_by_their_bytes(self, channels: LiveChannels) -> None:
        with channels.subscribe(ORG, "a") as slow:
            for _ in range(20):
                channels.publish(ORG, "a", bytes(MAX_PAYLOAD_BYTES))
            assert await receive_next(slow) == Missed(16)

    async def test_cancelled_receive_loses_no_message(self, channels: LiveChannels) -> None:
        with channels.subscribe(ORG, "a") as subscription:
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(subscription.receive())
                await asyncio.sleep(0)
                channels.publish(ORG, "a", b"1")
                waiting.cancel()
            assert await receive_next(subscription) == b"1"

    async def test_too_much_is_refused_to_its_organization_alone(
        self, channels: LiveChannels
    ) -> None:
        with pytest.raises(Invalid):
            channels.publish(ORG, "a", bytes(MAX_PAYLOAD_BYTES + 1))
        with pytest.raises(Invalid):
            channels.publish(ORG, "a" * (MAX_CHANNEL_BYTES + 1), b"")
        with pytest.raises(Invalid), channels.subscribe(ORG, "a" * (MAX_CHANNEL_BYTES + 1)):
            pass
        with pytest.raises(LimitReached):
            for _ in range(2 * BURST_BYTES // MAX_PAYLOAD_BYTES):
                channels.publish(ORG, "a", bytes(MAX_PAYLOAD_BYTES))
        channels.publish(OTHER_ORG, "a", bytes(MAX_PAYLOAD_BYTES))

    async def test_subscriptions_of_an_organization_are_bounded(
        self, channels: LiveChannels
    ) -> None:
        entered = [channels.subscribe(ORG, "a") for _ in range(MAX_SUBSCRIPTIONS)]
        for each in entered:
            each.__enter__()
        with pytest.raises(LimitReached), channels.subscribe(ORG, "b"):
            pass
        with channels.subscribe(OTHER_ORG, "a"):
            pass
        entered.pop().__exit__(None, None, None)
        with channels.subscribe(ORG, "b") as freed:
            channels.publish(ORG, "b", b"1")
            assert await receive_next(freed) == b"1"
        for each in entered:
            each.__exit__(None, None, None)


def event_at(position: int, *, event_type: str = "auth.login") -> Event:
    """Return an event of the log."""
    return Event(
        id=EventId(f"ev_{position}"),
        position=position,
        stream="auth",
        seq=position,
        event_type=event_type,
        event_version=1,
        at=NOW,
        org_id=ORG,
        actor_kind="adm",
        actor_id="person",
        reason=None,
        payload={"how": "ticket"},
    )


class EventSinkContract:
    """Contract of an event sink: in order, each once, and only at the end that is named."""

    async def test_new_stream_is_empty(self, sink: EventSink) -> None:
        assert sink.name
        assert await sink.tip() == await sink.tip() == Tip(0)

    async def test_events_are_numbered_and_the_last_is_the_tip(self, sink: EventSink) -> None:
        await sink.tip()
        assert await sink.append([event_at(3), event_at(7)], after=0) == 2
        assert await sink.append([event_at(8)], after=2) == 3
        assert await sink.tip() == Tip(3, 8, EventId("ev_8"))

    @pytest.mark.parametrize("after", [0, 1, 3])
    async def test_append_elsewhere_than_at_the_end_changes_nothing(
        self, sink: EventSink, after: int
    ) -> None:
        await sink.tip()
        await sink.append([event_at(1), event_at(2)], after=0)
        with pytest.raises(Conflict):
            await sink.append([event_at(3), event_at(4)], after=after)
        assert await sink.tip() == Tip(2, 2, EventId("ev_2"))

    async def test_event_that_is_there_is_not_stored_again(self, sink: EventSink) -> None:
        await sink.tip()
        await sink.append([event_at(1), event_at(2)], after=0)
        for again in (event_at(2), replace(event_at(9), id=EventId("ev_1"))):
            with pytest.raises(AtollError):
                await sink.append([again], after=2)
        assert (await sink.tip()).sequence == 2

    async def test_many_at_once_keep_their_order(self, sink: EventSink) -> None:
        await sink.tip()
        assert await sink.append([event_at(n) for n in range(1, 501)], after=0) == 500
        assert await sink.tip() == Tip(500, 500, EventId("ev_500"))
