"""Followers of a worker: events and deltas in their order, tails, and who falls behind."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid, NotFound, StaleCursor, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.workers.live import WorkerDelta
from atoll.services.workers.live import LIVE_CHARACTERS
from tests.services.workers.test_workers import OTHER, Scene, serving


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with serving(tmp_path) as found:
        yield found


def piece(text: str, item: str = "i1") -> str:
    params = {"itemId": item, "delta": text}
    return json.dumps({"method": "item/agentMessage/delta", "params": params})


def item(kind: str, name: str = "i1") -> str:
    return json.dumps({"method": f"item/{kind}", "params": {"item": {"id": name}}})


async def heard(
    scene: Scene, *, tail_ms: int | None, until: str = "", begun: asyncio.Event | None = None
) -> list[str]:
    """What a follower receives: types of events, and texts of deltas. `begun` is set with the
    first."""
    found: list[str] = []
    async with asyncio.timeout(20), aclosing(follow(scene, tail_ms=tail_ms)) as said:
        async for one in said:
            found.append(one)
            if begun is not None:
                begun.set()
            if one == until:
                break
    return found


async def follow(scene: Scene, *, tail_ms: int | None = None) -> AsyncGenerator[str, None]:
    stream = scene.streams.follow(LOCAL_PERSON, "w", after=0, tail_ms=tail_ms)
    async with aclosing(stream) as said:
        async for some in said:
            for one in some:
                if isinstance(one, WorkerDelta):
                    yield json.loads(one.params)["delta"]
                else:
                    yield str(one.payload.get("method", one.event_type))


async def test_tail_ends_with_the_events_that_are_there(scene: Scene) -> None:
    key = await scene.running()
    for number in range(450):
        scene.host.say(key, f'{{"method":"turn/started","params":{number}}}')
    await scene.until(lambda shown: shown.observed.latest_seq == 451)
    assert len(await heard(scene, tail_ms=0)) == 451


async def test_tail_ends_after_its_time_with_what_came_meanwhile(scene: Scene) -> None:
    key = await scene.running()
    async with asyncio.TaskGroup() as tasks:
        begun = asyncio.Event()
        following = tasks.create_task(heard(scene, tail_ms=1000, begun=begun))
        await begun.wait()
        scene.host.say(key, item("started"))
    assert following.result() == ["worker.started", "item/started"]


async def test_deltas_come_between_their_events_and_are_not_stored(scene: Scene) -> None:
    key = await scene.running()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(heard(scene, tail_ms=None, until="item/completed"))
        await scene.host.followed(key)
        scene.host.say(key, item("started"))
        scene.host.utter(key, piece("Hel"), piece("lo"))
        await scene.until(lambda shown: shown.observed.latest_seq == 2)
        await asyncio.sleep(0.1)  # deltas are not ordered with what comes right behind them
        scene.host.say(key, item("completed"))
    assert following.result() == ["worker.started", "item/started", "Hel", "lo", "item/completed"]
    assert await heard(scene, tail_ms=0) == ["worker.started", "item/started", "item/completed"]


async def test_delta_that_comes_after_its_item_is_not_shown(scene: Scene) -> None:
    key = await scene.running()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(heard(scene, tail_ms=None, until="end"))
        await scene.host.followed(key)
        scene.host.say(key, item("completed"))
        await scene.until(lambda shown: shown.observed.latest_seq == 2)
        await asyncio.sleep(0.1)  # deltas are not ordered with what came right before them
        scene.host.utter(key, piece("late"), piece("other", "i2"), piece("end", "i3"), after=0)
    assert following.result() == ["worker.started", "item/completed", "other", "end"]


async def test_stalled_follower_costs_a_bounded_memory_and_the_others_nothing(
    scene: Scene,
) -> None:
    key = await scene.running()
    stalled = follow(scene)
    async with aclosing(stalled), asyncio.timeout(30):
        assert await anext(stalled) == "worker.started"
        text, begun = "x" * 10_000, asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(heard(scene, tail_ms=None, until="end", begun=begun))
            await begun.wait()
            await scene.host.followed(key)
            for _ in range(3 * LIVE_CHARACTERS // len(text)):
                scene.host.utter(key, piece(text))
                await asyncio.sleep(0)
            await asyncio.sleep(0.2)  # the stalled one may not hold the other up in this time
            scene.host.utter(key, piece("end"))
        assert following.result().count(text) == 3 * LIVE_CHARACTERS // len(text)
        late = [one async for one in _until(stalled, "end")]
        assert 50 < len(late) <= LIVE_CHARACTERS // len(text) + 1


async def _until(said: AsyncIterator[str], last: str) -> AsyncIterator[str]:
    async for one in said:
        yield one
        if one == last:
            return


async def test_host_that_cannot_be_heard_is_followed_without_deltas(scene: Scene) -> None:
    scene.host.failing["live"] = Unavailable("cut off")
    key = await scene.running()
    async with asyncio.TaskGroup() as tasks:
        begun = asyncio.Event()
        following = tasks.create_task(
            heard(scene, tail_ms=None, until="item/completed", begun=begun)
        )
        await begun.wait()
        scene.host.say(key, item("completed"))
    assert following.result() == ["worker.started", "item/completed"]


async def test_reader_ends_with_its_last_follower(scene: Scene) -> None:
    key = await scene.running()
    for _ in range(2):
        said = follow(scene)
        async with aclosing(said):
            await anext(said)
            await scene.host.followed(key)
        await scene.host.followed(key, by=0)


async def test_foreign_and_missing_streams_answer_alike(scene: Scene) -> None:
    await scene.running()
    for name in ("w", "nowhere"):
        with pytest.raises(NotFound, match=f"no worker '{name}'"):
            await anext(scene.streams.follow(OTHER, name, after=0))


@pytest.mark.parametrize("tail_ms", [-1, 60_001])
async def test_tail_is_bounded(scene: Scene, tail_ms: int) -> None:
    await scene.running()
    with pytest.raises(Invalid) as found:
        await anext(scene.streams.follow(LOCAL_PERSON, "w", after=0, tail_ms=tail_ms))
    assert found.value.field == "tail_ms"


async def test_cursor_whose_events_are_gone_is_stale(scene: Scene) -> None:
    key = await scene.running()
    for _ in range(4):
        scene.host.say(key, item("started"))
    await scene.until(lambda shown: shown.observed.latest_seq == 5)
    async with scene.ground.store.begin() as rows:
        assert await rows.worker_events.remove(key, 4) == 3
    for act in (
        anext(scene.streams.follow(LOCAL_PERSON, "w", after=2)),
        scene.streams.page(LOCAL_PERSON, "w", after=2),
    ):
        with pytest.raises(StaleCursor) as found:
            await act
        assert found.value.resume_after == 3
    page = await scene.streams.page(LOCAL_PERSON, "w", after=3)
    assert [one.seq for one in page.events] == [4, 5]
