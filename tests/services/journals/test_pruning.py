import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.event import Event, Gap
from atoll.domain.event_retention import EventRetention
from atoll.domain.outbox import Cursor
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports import EventQuery
from atoll.services.journals import pruning as event_pruning
from atoll.services.journals.events import Note
from atoll.services.journals.pruning import PAUSE, EventPruning
from atoll.services.repetition import FIRST_SWEEP, NEXT_SWEEP
from tests.services.scene import Scene, scene

DAY = timedelta(days=1)


async def record(s: Scene, count: int, stream: str = "auth") -> None:
    for number in range(count):
        await s.events.record(LOCAL_PERSON, Note(stream, "auth.login", {"how": str(number)}))


def pruning(
    s: Scene, *, age: timedelta | None = None, most: int | None = None, published_as: str = ""
) -> EventPruning:
    ground = replace(s.ground, published_as=published_as)
    return EventPruning(ground, EventRetention(age, most))


async def kept(s: Scene) -> list[tuple[str, int]]:
    return [(one.stream, one.seq) for one in await s.events.list(LOCAL_PERSON)]


async def test_sweep_removes_old_events_of_every_stream_and_too_many_of_a_sandbox() -> None:
    async with scene(run=False) as s:
        await record(s, 5, "auth")
        await record(s, 2, "sandbox:gone")
        s.clock.turn(10 * DAY.total_seconds())
        await record(s, 3, "auth")
        await record(s, 9, "sandbox:a")
        assert await pruning(s, age=5 * DAY, most=4).sweep() == 5 + 1 + 5
        assert await kept(s) == [
            ("sandbox:gone", 2),
            *(("auth", seq) for seq in (6, 7, 8)),
            *(("sandbox:a", seq) for seq in (6, 7, 8, 9)),
        ]
        assert await pruning(s, age=5 * DAY, most=4).sweep() == 0


async def test_sweep_that_keeps_everything_never_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scene(run=False) as s:
        await record(s, 5)
        monkeypatch.setattr(s.store, "begin", None)
        s.clock.turn(9000 * DAY.total_seconds())
        assert await pruning(s).sweep() == 0


async def test_batches_are_transactions_of_their_own_and_others_write_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_pruning, "BATCH", 2)
    async with scene(run=False) as s:
        await record(s, 6, "sandbox:a")
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            sweep = tasks.create_task(pruning(s, most=1).sweep())
            for left in (4, 3):
                while len(await kept(s)) != left:  # noqa: ASYNC110 - it waits in the store
                    await asyncio.sleep(0)
                await record(s, 1, "auth")
                assert not sweep.done()
                while not s.clock._sleepers:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0)
                s.clock.turn(PAUSE.total_seconds())
        assert sweep.result() == 5


async def test_pruning_goes_on_after_a_database_that_did_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scene(run=False) as s:
        await record(s, 3, "sandbox:a")
        broken = pruning(s, most=1)
        plain, tried = broken.sweep, 0

        async def sweep() -> int:
            nonlocal tried
            tried += 1
            if tried == 1:
                raise RuntimeError("not now")
            return await plain()

        monkeypatch.setattr(broken, "sweep", sweep)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(broken.run())
            for wait in (FIRST_SWEEP, NEXT_SWEEP):
                while not s.clock._sleepers:  # noqa: ASYNC110 - the clock has no such event
                    await asyncio.sleep(0)
                s.clock.turn(wait.total_seconds())
            while len(await kept(s)) != 1:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0)
            running.cancel()


async def test_follower_from_before_a_removal_gets_one_gap_and_then_what_is_kept() -> None:
    async with scene(run=False) as s:
        await record(s, 6, "sandbox:a")
        await record(s, 1, "auth")
        await pruning(s, most=2).sweep()
        async with aclosing(s.follow(after=1)) as events:
            assert await anext(events) == Gap(1, 4)
            seen = [await anext(events) for _ in range(3)]
            await record(s, 1, "auth")
            seen.append(await anext(events))
        assert [one.position for one in seen if isinstance(one, Event)] == [5, 6, 7, 8]
        async with aclosing(s.follow(after=4)) as events:
            assert isinstance(await anext(events), Event)


async def test_slow_follower_whose_place_is_removed_meanwhile_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.services.journals.events.FOLLOW_PAGE", 2)
    async with scene(run=False) as s:
        await record(s, 8, "sandbox:a")
        async with aclosing(s.follow(after=0)) as events:
            seen = [await anext(events), await anext(events)]
            await pruning(s, most=3).sweep()
            assert await anext(events) == Gap(2, 5)
            seen += [await anext(events) for _ in range(3)]
        assert [one.seq for one in seen if isinstance(one, Event)] == [1, 2, 6, 7, 8]


async def test_sandbox_keeps_its_state_and_its_journals_mark_without_its_events() -> None:
    async with scene() as s:
        made = await s.ready()
        entry = {"n": 1, "at": "2026-01-01T12:00:00Z", "kind": "door.refused", "payload": {}}
        s.runtime.journal.append(entry)
        client = s.access.runtime_of(made)
        assert await s.within.journals.collect(made, client) == 1
        await pruning(s, most=1).sweep()
        async with s.store.read() as rows:
            query = EventQuery(made.org_id, made.owner, f"sandbox:{made.id}")
            assert [one.event_type for one in await rows.events.page(query)] == ["door.refused"]
        assert (await s.sandboxes.get(LOCAL_PERSON, made.id)).state == "ready"
        # What was collected is not collected once more.
        assert await s.within.journals.collect(made, client) == 0
        stopped = await s.sandboxes.stop(LOCAL_PERSON, made.id)
        assert stopped.id == made.id
        await s.until(made, "stopped")


async def test_events_that_an_outbox_has_not_published_are_kept_for_a_while() -> None:
    async with scene(run=False) as s:
        await record(s, 5)
        last = (await s.events.list(LOCAL_PERSON))[-1].position
        async with s.store.begin() as rows:
            await rows.outbox.set_cursor("ATOLL", Cursor(last - 3, 2))
        s.clock.turn(5 * DAY.total_seconds())
        await record(s, 1)
        assert await pruning(s, age=4 * DAY, published_as="ATOLL").sweep() == 2
        assert [seq for _, seq in await kept(s)] == [3, 4, 5, 6]
        s.clock.turn(7 * DAY.total_seconds() - 1)
        assert await pruning(s, age=4 * DAY, published_as="ATOLL").sweep() == 3
        found = await s.events.list(LOCAL_PERSON)
        assert [(one.stream, one.event_type) for one in found] == [
            ("auth", "auth.login"),
            ("log", "log.pruned"),
        ]
        assert found[-1].payload == {"readers": ["outbox:ATOLL"], "after": last - 3}


async def test_outbox_that_is_gone_holds_nothing_back() -> None:
    async with scene(run=False) as s:
        await record(s, 5)
        async with s.store.begin() as rows:
            await rows.outbox.set_cursor("ATOLL", Cursor(1, 1))
        s.clock.turn(8 * DAY.total_seconds())
        await record(s, 1)
        assert await pruning(s, age=4 * DAY, published_as="OTHER").sweep() == 5
