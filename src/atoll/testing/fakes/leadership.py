"""An election that a test decides."""

import asyncio

from atoll.domain.errors import Conflict
from atoll.ports import Transaction
from atoll.ports.leadership import Act


class FakeLeadership:
    """A `ports.leadership.Leadership` that leads from `elect` to `depose`."""

    shared = True

    def __init__(self) -> None:
        self.leads = False
        self._changed = asyncio.Event()

    def elect(self) -> None:
        """Make this process the leader."""
        self.leads = True
        self._changed.set()

    def depose(self) -> None:
        """Have another process lead."""
        self.leads = False
        self._changed.set()

    async def run(self, act: Act) -> None:
        """See the port."""
        while True:
            await self._wait_until(leads=True)
            failure: list[Exception] = []
            async with asyncio.TaskGroup() as tasks:
                working = tasks.create_task(self._act(act, failure))
                watching = tasks.create_task(self._wait_until(leads=False))
                await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
                working.cancel()
                watching.cancel()
            for error in failure:
                raise error

    async def check(self, rows: Transaction) -> None:
        """See the port."""
        if not self.leads:
            raise Conflict("Another control plane leads now and does this.", code="not_leader")

    async def _act(self, act: Act, failure: list[Exception]) -> None:
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - raised by `run`, bare
            failure.append(error)

    async def _wait_until(self, *, leads: bool) -> None:
        while self.leads is not leads:
            self._changed.clear()
            await self._changed.wait()
