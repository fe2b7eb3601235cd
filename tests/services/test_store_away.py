"""A store that does not answer for a time: what was under way goes on afterwards."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.ports import StoreUnavailable, Transaction
from atoll.services.journals.events import AFTER_FAILURE, Note
from atoll.services.sandboxes.reconciler import RETRY_SECONDS
from atoll.wire.words.sandboxes import State
from tests.services.scene import Scene, scene


@contextmanager
def away(s: Scene, since: int, calls: int = 2, *, of: str = "begin") -> Iterator[None]:
    """Have transactions fail: so many of them, from one on. `of` is `begin` or `read`."""
    plain, count = getattr(s.store, of), 0

    @asynccontextmanager
    async def begin() -> AsyncIterator[Transaction]:
        nonlocal count
        count += 1
        if since <= count < since + calls:
            raise StoreUnavailable("the database is away")
        async with plain() as rows:
            yield rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(s.store, of, begin)
        yield


async def turned(s: Scene, ref: str, *states: State) -> State:
    """The state of a sandbox once it is one of these, while time passes."""
    async with asyncio.timeout(30):
        while (now := await s.sandboxes.get(LOCAL_PERSON, ref)).state not in states:
            s.clock.turn(RETRY_SECONDS)
            await asyncio.sleep(0.01)
    return now.state


async def stored(s: Scene, ref: str) -> State | None:
    """The state of a sandbox, None while the store cannot be read."""
    try:
        return (await s.sandboxes.get(LOCAL_PERSON, ref)).state
    except StoreUnavailable:
        return None


@pytest.mark.parametrize("since", range(2, 6))
async def test_sandbox_gets_ready_although_the_store_was_away(since: int) -> None:
    async with scene() as s:
        with away(s, since):
            made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
            assert await turned(s, made.id, State.READY, State.FAILED) is State.READY
            assert not s.background.reconciler.busy(made.id)


@pytest.mark.parametrize("since", range(1, 6))
async def test_sandbox_gets_ready_although_the_store_could_not_be_read(since: int) -> None:
    """Its policy is composed from the store: what is missing there is nothing of the sandbox's."""
    async with scene() as s:
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        with away(s, since, of="read"):
            async with asyncio.timeout(30):
                while await stored(s, made.id) not in (State.READY, State.FAILED):
                    s.clock.turn(RETRY_SECONDS)
                    await asyncio.sleep(0.01)
        assert await stored(s, made.id) is State.READY


@pytest.mark.parametrize("since", range(2, 5))
async def test_sandbox_is_destroyed_although_the_store_was_away(since: int) -> None:
    async with scene() as s:
        made = await s.ready()
        with away(s, since):
            await s.sandboxes.destroy(LOCAL_PERSON, made.id)
            assert await turned(s, made.id, State.DESTROYED) is State.DESTROYED


async def test_deadline_that_came_while_the_store_was_away_counts_afterwards() -> None:
    async with scene() as s:
        made = await s.ready()
        with away(s, 1, calls=3):
            s.clock.turn((made.expires_at - s.clock.now()).total_seconds())
            assert await turned(s, made.id, State.EXPIRED) is State.EXPIRED


async def test_watcher_of_the_log_goes_on_and_misses_nothing() -> None:
    async with scene(run=False) as s:
        seen: list[str] = []
        started, told = asyncio.Event(), asyncio.Event()

        async def watch() -> None:
            async for event in s.events.appended(LOCAL_PERSON, started=started):
                seen.append(str(event.payload["how"]))
                told.set()

        async def record(how: str) -> None:
            await s.events.record(LOCAL_PERSON, Note("auth", "auth.login", {"how": how}))

        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            task = tasks.create_task(watch())
            await started.wait()
            await record("one")
            await told.wait()
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(s.store, "read", _refused)
                await record("two")
                await asyncio.sleep(0.05)
            await record("three")
            while len(seen) < 3:
                s.clock.turn(AFTER_FAILURE.total_seconds())
                await asyncio.sleep(0.01)
            task.cancel()
        assert seen == ["one", "two", "three"]


@asynccontextmanager
async def _refused() -> AsyncIterator[Transaction]:
    raise StoreUnavailable("the database is away")
    yield
