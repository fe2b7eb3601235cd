import asyncio
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace

import pytest

from atoll.domain.errors import Unavailable
from atoll.domain.event import Event
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports import Transaction
from atoll.services.journals.events import Note
from tests.services.scene import Scene, scene


async def record(s: Scene, number: int, stream: str = "auth") -> Event:
    return await s.events.record(LOCAL_PERSON, Note(stream, "auth.login", {"how": str(number)}))


async def test_follow_over_reconnects_misses_and_repeats_nothing() -> None:
    async with scene(run=False) as s:
        seen: list[str] = []

        async def write() -> None:
            for number in range(450):
                await record(s, number)

        async def read() -> None:
            after = 0
            while len(seen) < 450:
                async with aclosing(s.follow(after=after)) as events:
                    async for event in events:
                        assert isinstance(event, Event)
                        seen.append(str(event.payload["how"]))
                        after = event.position
                        if len(seen) % 70 == 0 or len(seen) == 450:
                            break

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(write())
            tasks.create_task(read())
        assert seen == [str(number) for number in range(450)]


async def test_follow_of_a_stream_hears_only_that() -> None:
    async with scene(run=False) as s:
        await record(s, 1, "auth")
        await record(s, 2, "vault")
        async with aclosing(s.follow(stream="vault")) as events:
            first = await anext(events)
            assert isinstance(first, Event) and first.payload == {"how": "2"}
            await record(s, 3, "auth")
            await record(s, 4, "vault")
            second = await anext(events)
            assert isinstance(second, Event) and second.seq == 2


async def test_events_of_another_are_not_seen() -> None:
    async with scene(run=False) as s:
        await record(s, 1)
        other = replace(LOCAL_PERSON, id=PrincipalId("other"))
        assert await s.events.list(other) == []
        assert await s.events.last_position() == 1


async def test_unknown_kind_is_refused_and_not_stored() -> None:
    async with scene(run=False) as s:
        with pytest.raises(ValueError, match="no event kind"):
            await s.events.record(LOCAL_PERSON, Note("auth", "auth.happy", {}))
        assert await s.events.last_position() == 0


async def test_follower_of_new_events_outlives_a_log_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    reads: list[int] = []
    began, failed = asyncio.Event(), asyncio.Event()
    async with scene(run=False) as s:
        plain, broken = s.store.read, False

        def reading() -> AbstractAsyncContextManager[Transaction]:
            reads.append(1)
            if len(reads) == 2:
                began.set()  # It knows the last position.
            if broken:
                failed.set()
                raise Unavailable("The database did not answer as it should.")
            return plain()

        async def read() -> None:
            async for event in s.events.appended(LOCAL_PERSON):
                seen.append(str(event.payload["how"]))

        async def until(count: int) -> None:
            while len(seen) < count:
                s.clock.turn(5)
                await asyncio.sleep(0.001)

        await record(s, 0)
        monkeypatch.setattr(s.store, "read", reading)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(read())
            await began.wait()
            await record(s, 1)
            await until(1)
            broken = True
            await record(s, 2)
            await failed.wait()
            broken = False
            await record(s, 3)
            await until(3)
            reader.cancel()
    assert seen == ["1", "2", "3"]
