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
from pkgutil import iter_modules

import pytest

from atoll.domain.ids import PERSONAL_ORG
from atoll.ports import EventQuery, Store
from atoll.testing.contracts import rows as nouns
from atoll.testing.contracts.event_log import OWNER, EventLogContract, draft
from atoll.testing.contracts.rows.sandboxes import sandbox

Check = Callable[[Store], Awaitable[None]]


def row_checks() -> list[Check]:
    """Return the checks of every noun's rows: each `check_` of the modules in `rows`."""
    found: list[Check] = []
    for module in iter_modules(nouns.__path__, f"{nouns.__name__}."):
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

    @pytest.mark.parametrize("check", row_checks(), ids=lambda check: check.__name__[6:])
    async def test_rows(self, check: Check) -> None:
        async with self.opened() as store:
            await check(store)
