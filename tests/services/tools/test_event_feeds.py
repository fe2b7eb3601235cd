import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from atoll.domain.errors import Forbidden, LimitReached, NotFound
from atoll.domain.event import Gap, Json
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.tool.occurrence import Wanted
from atoll.services.journals.events import Note
from atoll.services.tools import event_feeds
from atoll.services.tools.event_feeds import MAX_BATCH_BYTES, MAX_PAGES, PAGE, Batch, EventFeeds
from tests.services.scene import Scene, scene
from tests.services.tools.test_consent import inside

CALLED: dict[str, Json] = {"tool": "t", "permission": "p", "digest": "d", "outcome": "ok", "ms": 1}
CALLS = Wanted("tool.called")
STOPPED = Wanted("sandbox.stopped")


async def _called(s: Scene, caller: Principal = LOCAL_PERSON, **payload: Json) -> int:
    note = Note("tools", "tool.called", {**CALLED, **payload})
    return (await s.events.record(caller, note)).position


async def _drained(feeds: EventFeeds, wanted: Wanted, after: int) -> list[int]:
    """The positions of all that follows, batch by batch."""
    seen: list[int] = []
    while True:
        found = await feeds.batch(LOCAL_PERSON, wanted, after=after, limit=7)
        seen += [one.position for one in found.events]
        after = found.position
        if not found.more:
            return seen


async def test_batches_have_each_event_once_and_in_order() -> None:
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        wanted = [await _called(s) for _ in range(PAGE + 30)]
        assert await _drained(feeds, CALLS, 0) == wanted
        assert await _drained(feeds, CALLS, wanted[99]) == wanted[100:]


async def test_rare_kind_is_found_behind_more_pages_than_a_batch_looks_at() -> None:
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        sandbox = await s.ready()
        after = await s.events.last_position()
        note = Note("tools", "tool.called", CALLED)
        for _ in range(MAX_PAGES * PAGE // 500 + 1):
            await asyncio.gather(*(s.events.record(LOCAL_PERSON, note) for _ in range(500)))
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        first = await feeds.batch(LOCAL_PERSON, STOPPED, after=after)
        assert (first.events, first.more, first.truncated) == ((), True, False)
        assert len(await _drained(feeds, STOPPED, after)) == 1


async def test_batch_is_bounded_in_bytes_and_one_event_always_has_room() -> None:
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        for size in (MAX_BATCH_BYTES * 2, MAX_BATCH_BYTES // 2, MAX_BATCH_BYTES * 3 // 4):
            await _called(s, tool="x" * size)
        seen, after = [], 0
        for _ in range(3):
            found = await feeds.batch(LOCAL_PERSON, CALLS, after=after)
            seen.append(len(found.events))
            after = found.position
        assert seen == [1, 1, 1]


async def test_place_begins_now_without_a_cursor_and_after_the_end() -> None:
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        newest = await _called(s)
        begun = await feeds.batch(LOCAL_PERSON, CALLS, after=None)
        assert begun == Batch((), newest, False, False)
        assert await feeds.batch(LOCAL_PERSON, CALLS, after=newest + 1) == Batch(
            (), newest, True, False
        )


async def test_gap_is_told_and_left_behind() -> None:
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        kept = await _called(s)

        async def gap(
            caller: Principal, *, stream: str | None = None, after: int = 0
        ) -> Gap | None:
            return Gap(after, kept) if after < kept else None

        s.events.gap = gap  # type: ignore[method-assign]
        first = await feeds.batch(LOCAL_PERSON, CALLS, after=0)
        assert (first.truncated, first.position, len(first.events)) == (True, kept, 1)
        second = await feeds.batch(LOCAL_PERSON, CALLS, after=first.position)
        assert (second.truncated, second.events) == (False, ())


async def test_foreign_organization_and_foreign_sandbox_never_appear() -> None:
    stranger = replace(LOCAL_PERSON, org_id=OrgId("org_2"), id=PrincipalId("p_2"))
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        mine, other = await s.ready(), await s.ready()
        await _called(s, stranger)
        own = await _called(s)
        assert await _drained(feeds, CALLS, 0) == [own]
        found = await feeds.batch(stranger, Wanted("sandbox.ready"), after=0)
        assert found.events == ()
        seen = await feeds.batch(inside(mine), Wanted("sandbox.ready"), after=0)
        assert {one.stream for one in seen.events} == {f"sandbox:{mine.id}"}
        with pytest.raises(NotFound):
            named = Wanted("sandbox.ready", stream=f"sandbox:{other.id}")
            await feeds.batch(inside(mine), named, after=0)


async def test_caller_without_the_permission_is_refused() -> None:
    nobody = replace(LOCAL_PERSON, capabilities=frozenset())
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        with pytest.raises(Forbidden):
            await feeds.batch(nobody, CALLS, after=None)
        with pytest.raises(Forbidden):
            await anext(feeds.follow(nobody, CALLS, after=None, beat_seconds=1))


async def test_follower_has_what_comes_and_beats_when_nothing_does() -> None:
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        following = feeds.follow(LOCAL_PERSON, CALLS, after=None, beat_seconds=0.05)
        async with asyncio.timeout(10), aclosing(following):  # type: ignore[type-var]
            assert (await anext(following)).events == ()
            assert (await anext(following)).events == ()
            positions = [await _called(s) for _ in range(PAGE + 5)]
            seen: list[int] = []
            while len(seen) < len(positions):
                seen += [one.position for one in (await anext(following)).events]
            assert seen == positions


async def test_many_streams_of_one_caller_are_refused_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_feeds, "MAX_STREAMS", 3)
    other = replace(LOCAL_PERSON, id=PrincipalId("p_2"))
    async with scene() as s:
        feeds = EventFeeds(s.ground, s.events, scheme="atoll")
        opened = [feeds.follow(LOCAL_PERSON, CALLS, after=None, beat_seconds=9) for _ in range(3)]
        for one in opened:
            await anext(one)
        for _ in range(10_000):
            with pytest.raises(LimitReached):
                await anext(feeds.follow(LOCAL_PERSON, CALLS, after=None, beat_seconds=9))
        theirs = feeds.follow(other, CALLS, after=None, beat_seconds=9)
        await anext(theirs)
        for one in (*opened, theirs):
            await one.aclose()  # type: ignore[attr-defined]
        assert not feeds._open
