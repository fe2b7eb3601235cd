import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from atoll.domain.errors import Failed, Unavailable
from atoll.domain.event import Event
from atoll.domain.ids import EventId
from atoll.domain.outbox import Cursor
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports.leadership import Leadership
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals import outbox as outboxes
from atoll.services.journals.events import Note, draft_of
from atoll.services.journals.log_watch import PERIOD, PERIOD_ALONE, LogWatch
from atoll.services.journals.outbox import Outbox
from atoll.testing import FakeEventSink, FakeLeadership
from atoll.testing.samples import draft
from tests.peers.nats.server import PATIENCE_SECONDS, until
from tests.services.scene import Scene, scene


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_PAUSE_SECONDS", "MAX_PAUSE_SECONDS"):
        monkeypatch.setattr(outboxes, name, 0.02)
    monkeypatch.setattr(outboxes, "SAVE_SECONDS", 0)


async def record(s: Scene, count: int = 1, stream: str = "auth") -> None:
    """Append so many events in one transaction, and announce them."""
    drafts = [
        draft_of(
            Note(stream, "auth.login", {"how": str(number)}),
            LOCAL_PERSON,
            at=s.clock.now(),
            event_id=s.ground.ids.event(),
        )
        for number in range(count)
    ]
    async with s.store.begin() as rows:
        await rows.events.append(drafts)
    s.bus.announce((stream,))


def outbox_of(s: Scene, sink: FakeEventSink | None, *led: Leadership) -> Outbox:
    ground = Ground(s.store, s.bus, s.clock, Identifiers())
    return Outbox(replace(ground, leadership=led[0]) if led else ground, sink)


@asynccontextmanager
async def publishing(*outbox: Outbox) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each.run()) for each in outbox]
        try:
            yield
        finally:
            for each in running:
                each.cancel()


def positions(sink: FakeEventSink) -> list[int]:
    return [event.position for event in sink.events]


async def cursor(s: Scene) -> Cursor | None:
    async with s.store.read() as rows:
        return await rows.outbox.cursor("EVENTS")


async def test_everything_committed_is_published_once_and_in_order() -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        await record(s, 450)
        async with publishing(outbox_of(s, sink)):
            await until(lambda: len(sink.events) == 450)
            await record(s, 3, "other")
            await until(lambda: len(sink.events) == 453)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await cursor(s) != Cursor(453, 453):  # noqa: ASYNC110 - as in `until`
                    await asyncio.sleep(0.01)
        assert positions(sink) == list(range(1, 454))


async def test_transaction_that_failed_publishes_nothing() -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        async with publishing(outbox_of(s, sink)):
            with pytest.raises(ZeroDivisionError):
                async with s.store.begin() as rows:
                    await rows.events.append((draft(1),))
                    s.bus.announce(("auth",))
                    await asyncio.sleep(0.1)  # nothing may be published in this time
                    raise ZeroDivisionError
            await record(s)
            await until(lambda: bool(sink.events))
        assert [event.payload for event in sink.events] == [{"how": "0"}]


async def test_without_a_sink_nothing_runs_and_nothing_is_written() -> None:
    async with scene(run=False) as s:
        outbox = outbox_of(s, None)
        await outbox.run()
        assert outbox.trouble is None and await cursor(s) is None


async def test_stream_that_is_away_costs_time_alone() -> None:
    async with scene(run=False) as s:
        sink, outbox = FakeEventSink(), None
        sink.failure = Unavailable("away")
        outbox = outbox_of(s, sink)
        async with publishing(outbox):
            await record(s, 2)
            await until(lambda: outbox.trouble == "away")
            sink.failure = None
            await until(lambda: len(sink.events) == 2 and outbox.trouble is None)
            sink.failure = Unavailable("gone again")
            await record(s, 2)
            await until(lambda: outbox.trouble == "gone again")
            sink.failure = None
            await until(lambda: len(sink.events) == 4)
        assert positions(sink) == [1, 2, 3, 4]


class HalfWay(FakeEventSink):
    """A stream whose first answers are lost after it stored a part, or all."""

    def __init__(self, *stored: int) -> None:
        super().__init__()
        self.stored = list(stored)

    async def append(self, events: Sequence[Event], *, after: int) -> int:
        if self.stored:
            await super().append(events[: self.stored.pop(0)], after=after)
            raise Unavailable("the connection was lost")
        return await super().append(events, after=after)


async def test_append_that_was_cut_off_half_way_goes_on_where_the_stream_ends() -> None:
    async with scene(run=False) as s:
        sink = HalfWay(3, 0, 7, 200)
        await record(s, 300)
        async with publishing(outbox_of(s, sink)):
            await until(lambda: len(sink.events) == 300)
        assert positions(sink) == list(range(1, 301))


async def test_next_leader_goes_on_where_the_one_before_was_stopped() -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        leaders = [FakeLeadership(), FakeLeadership()]
        outboxes = [outbox_of(s, sink, leader) for leader in leaders]
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(leader.run(outbox.run))
                for leader, outbox in zip(leaders, outboxes, strict=True)
            ]
            await record(s, 3)
            for turn in range(4):
                leaders[turn % 2].elect()
                await until(lambda: len(sink.events) == 3 + 3 * turn)  # noqa: B023 - called here
                leaders[turn % 2].depose()
                await record(s, 3)
            for task in running:
                task.cancel()
        assert positions(sink) == list(range(1, 13))


async def test_leader_that_was_replaced_unawares_saves_nothing_and_is_in_no_trouble() -> None:
    async with scene(run=False) as s:
        sink, leader = FakeEventSink(), FakeLeadership()
        outbox = outbox_of(s, sink, leader)
        async with publishing(outbox):
            await record(s)
            await until(lambda: len(sink.events) == 1)
            await asyncio.sleep(0.1)  # nothing may be saved in this time
            assert await cursor(s) is None and outbox.trouble is None


async def test_trouble_ends_with_the_leadership() -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        sink.failure = Unavailable("away")
        outbox = outbox_of(s, sink)
        async with publishing(outbox):
            await until(lambda: outbox.trouble == "away")
        assert outbox.trouble is None


@pytest.mark.parametrize("saved", [Cursor(1, 1), Cursor(3, 3), None])
async def test_crash_between_publishing_and_saving_repeats_nothing(saved: Cursor | None) -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        await record(s, 3)
        async with publishing(outbox_of(s, sink)):
            await until(lambda: len(sink.events) == 3)
        async with s.store.begin() as rows:
            await rows.outbox.set_cursor("EVENTS", saved or Cursor(0, 0))
        await record(s, 2)
        async with publishing(outbox_of(s, sink)):
            await until(lambda: len(sink.events) >= 5)
        assert positions(sink) == [1, 2, 3, 4, 5]


async def test_messages_that_the_stream_no_longer_keeps_are_not_published_again() -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        await record(s, 250)
        async with publishing(outbox_of(s, sink)):
            await until(lambda: len(sink.events) == 250)
        async with s.store.begin() as rows:
            await rows.outbox.set_cursor("EVENTS", Cursor(20, 20))
        sink.forget()
        await record(s, 2)
        async with publishing(outbox_of(s, sink)):
            await until(lambda: len(sink.events) >= 252)
        assert positions(sink) == list(range(1, 253))


async def test_stream_that_was_removed_is_filled_again() -> None:
    async with scene(run=False) as s:
        first, second = FakeEventSink(), FakeEventSink()
        await record(s, 5)
        async with publishing(outbox_of(s, first)):
            await until(lambda: len(first.events) == 5)
        async with publishing(outbox_of(s, second)):
            await until(lambda: len(second.events) == 5)


@pytest.mark.parametrize("changed", [{"position": 9}, {"id": EventId("ev_theirs")}])
async def test_stream_of_another_log_is_left_alone(changed: dict[str, object]) -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        await record(s, 3)
        async with publishing(outbox_of(s, sink)):
            await until(lambda: len(sink.events) == 3)
        sink.events[-1] = replace(sink.events[-1], **changed)  # type: ignore[arg-type]
        outbox = outbox_of(s, sink)
        async with publishing(outbox):
            await record(s)
            await until(lambda: outbox.trouble is not None)
            assert "another installation" in (outbox.trouble or "") and len(sink.events) == 3


async def test_failure_that_stays_is_said_until_it_is_mended() -> None:
    async with scene(run=False) as s:
        sink = FakeEventSink()
        sink.failure = Failed("JetStream refuses: no")
        outbox = outbox_of(s, sink)
        async with publishing(outbox):
            await until(lambda: outbox.trouble == "JetStream refuses: no")
            sink.failure = None
            await until(lambda: outbox.trouble is None)


@pytest.mark.parametrize("alone", [True, False])
async def test_watch_finds_what_another_replica_appended(alone: bool) -> None:
    async with scene(run=False) as s:
        woken: list[set[str] | None] = []
        watch = LogWatch(
            s.store,
            s.clock,
            wake=lambda streams: woken.append(None if streams is None else set(streams)),
            alone=lambda: alone,
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(watch.run())
            await until(lambda: bool(s.clock._sleepers))
            await record(s, 2, "auth")
            await record(s, 1, "b")
            s.clock.turn(PERIOD_ALONE.total_seconds())
            if alone:
                await until(lambda: bool(woken))
            else:
                await asyncio.sleep(0.1)  # nobody may be woken in this time
                assert not woken
            s.clock.turn((PERIOD - PERIOD_ALONE).total_seconds())
            await until(lambda: bool(woken))
            assert woken == [{"auth", "b"}]
            await until(lambda: bool(s.clock._sleepers))
            await record(s, 1001, "c")
            s.clock.turn(PERIOD.total_seconds())
            await until(lambda: len(woken) == 2)
            assert woken[1] is None
            running.cancel()


async def test_watch_of_a_single_process_never_looks() -> None:
    async with scene(run=False) as s:
        await LogWatch(s.store, s.clock, wake=None, alone=lambda: True).run()
        assert not s.clock._sleepers
