"""The contract of a Store, as a test class to inherit from.

```python
class TestMine(StoreContract):
    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        async with my_store() as store:
            yield store
```
`opened` gives an empty store; every test opens its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pkgutil import walk_packages

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.ids import PERSONAL_ORG
from atoll.ports import EventQuery, Store
from atoll.testing.samples import OWNER, draft, sandbox
from tests.adapters.storage import rows as nouns
from tests.adapters.storage.event_log import EventLogContract

Check = Callable[[Store], Awaitable[None]]


def row_checks() -> list[Check]:
    """Return the checks of every noun's rows: each `check_` of the modules below `rows`."""
    found: list[Check] = []
    for module in walk_packages(nouns.__path__, f"{nouns.__name__}."):
        named = vars(import_module(module.name)).items()
        found += [check for name, check in named if name.startswith("check_")]
    return found


class StoreContract(EventLogContract):
    """Contract of a store: inherit, and say how an empty store is opened."""

    def opened(self) -> AbstractAsyncContextManager[Store]:
        """Return an empty store, closed on leaving."""
        raise AssertionError("a contract class says how its store is opened")

    async def test_transaction_that_raises_leaves_nothing(self) -> None:
        async with self.opened() as store:
            with pytest.raises(ZeroDivisionError):
                async with store.begin() as rows:
                    await rows.sandboxes.insert(sandbox("one"))
                    await rows.events.append((draft(1),))
                    raise ZeroDivisionError
            async with store.read() as rows:
                assert await rows.sandboxes.unfinished() == []
                assert await rows.events.last_position() == 0

    async def test_cancelled_transaction_leaves_nothing_and_blocks_nobody(self) -> None:
        async with self.opened() as store:
            inside = asyncio.Event()

            async def hang() -> None:
                async with store.begin() as rows:
                    await rows.sandboxes.insert(sandbox("one"))
                    inside.set()
                    await asyncio.Event().wait()

            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(hang())
                await inside.wait()
                task.cancel()
            async with store.begin() as rows:
                assert await rows.sandboxes.unfinished() == []
                await rows.sandboxes.insert(sandbox("one"))

    async def test_writers_at_once_take_turns(self) -> None:
        async with self.opened() as store:

            async def add(number: int) -> bool:
                async with store.begin() as rows:
                    if len(await rows.sandboxes.held(PERSONAL_ORG, OWNER)) >= 10:
                        return False
                    await rows.sandboxes.insert(sandbox(f"n{number}", number=number))
                    await rows.events.append((draft(number),))
                    return True

            done = await asyncio.gather(*(add(number) for number in range(40)))
            assert sum(done) == 10
            async with store.read() as rows:
                events = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER))
            assert [event.seq for event in events] == list(range(1, 11))

    async def test_failed_transaction_takes_none_of_its_neighbours_along(self) -> None:
        async with self.opened() as store:

            async def add(number: int) -> None:
                async with store.begin() as rows:
                    await rows.sandboxes.insert(sandbox(f"n{number % 20}", number=number))
                    await rows.events.append((draft(number),))
                    await asyncio.sleep(0)
                    if number % 3 == 0:
                        raise ZeroDivisionError

            done = await asyncio.gather(*(add(n) for n in range(40)), return_exceptions=True)
            kept = [number for number, one in enumerate(done) if one is None]
            assert len(kept) >= 13 and all(number % 3 for number in kept)
            assert {type(one) for one in done} == {type(None), ZeroDivisionError, Conflict}
            async with store.read() as rows:
                events = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER))
                names = {one.name for one in await rows.sandboxes.unfinished()}
            assert [event.seq for event in events] == list(range(1, len(kept) + 1))
            assert names == {f"n{number % 20}" for number in kept}

    async def test_cancelled_neighbours_leave_nothing_and_hold_up_nobody(self) -> None:
        async with self.opened() as store:

            async def add(number: int) -> None:
                async with store.begin() as rows:
                    await rows.events.append((draft(number),))
                    await asyncio.sleep(0)

            async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                tasks = [group.create_task(add(number)) for number in range(30)]
                for turns in range(1, 30, 4):
                    await asyncio.sleep(0.001)
                    tasks[turns].cancel()
            plain = [number for number, task in enumerate(tasks) if not task.cancelled()]
            async with store.read() as rows:
                events = await rows.events.page(EventQuery(PERSONAL_ORG, OWNER))
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            found = {event.payload["how"] for event in events}
            assert found >= {f"ticket {number}" for number in plain}

    @pytest.mark.parametrize("check", row_checks(), ids=lambda check: check.__name__[6:])
    async def test_rows(self, check: Check) -> None:
        async with self.opened() as store:
            await check(store)
