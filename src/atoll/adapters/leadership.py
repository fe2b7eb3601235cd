"""Election by a session lock of PostgreSQL, on a connection that does nothing else.

The server frees the lock when the connection ends, by whatever cause. The lock alone is not enough:
a leader learns of a lost connection only afterwards. So each election has a higher epoch, stored in
a row, which is checked in the transactions of the leader's work. And a new leader first waits until
the one before must have noticed.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import structlog

from atoll.domain.errors import AtollError, Conflict, Unavailable
from atoll.ports import Store, Transaction
from atoll.ports.leadership import Act

LEADER_LOCK = 0x41746F6C6D
"""The key of the advisory lock, beside that of writing transactions."""

CAMPAIGN_SECONDS = 0.5
"""Between two attempts to be elected."""

BEAT_SECONDS = 0.5
"""Between two questions whether the connection lasts."""

PATIENCE_SECONDS = 1.5
"""The time that the server may take to answer one: after it, the leader gives up."""

GRACE_SECONDS = BEAT_SECONDS + PATIENCE_SECONDS + 0.5
"""The wait of a new leader for the one before, which did not resign."""

_log = structlog.get_logger(__name__)


class PostgresLeadership:
    """The `ports.leadership.Leadership` of a control plane called `name`: no other one that runs
    has the same name."""

    shared = True

    def __init__(self, url: str, store: Store, name: str) -> None:
        self._url = url
        self._store = store
        self._name = name
        self._epoch: int | None = None

    @property
    def leads(self) -> bool:
        """See the port."""
        return self._epoch is not None

    async def run(self, act: Act) -> None:
        """See the port."""
        while True:
            try:
                async with self._try_lock() as link:
                    if link is not None:
                        await self._lead(link, act)
            except Unavailable as error:
                _log.warning("leader_not_elected", reason=error.message)
            await asyncio.sleep(CAMPAIGN_SECONDS)

    async def check(self, rows: Transaction) -> None:
        """See the port."""
        if self._epoch is None or await rows.replicas.epoch() != self._epoch:
            raise Conflict("Another control plane leads now and does this.", code="not_leader")

    async def _lead(self, link: Any, act: Act) -> None:
        async with self._store.begin() as rows:
            epoch, before = await rows.replicas.elect(self._name)
        if before not in ("", self._name):
            # The one before may not know yet that its connection is gone.
            await self._beats(link, seconds=GRACE_SECONDS)
        _log.info("leader_elected", name=self._name, epoch=epoch)
        self._epoch = epoch
        try:
            await self._while_locked(link, act)
        finally:
            self._epoch = None
            _log.info("leader_ended", name=self._name, epoch=epoch)
        # Reached only where the lock was lost.

    async def _while_locked(self, link: Any, act: Act) -> None:
        """Run `act` until the connection is lost."""
        epoch = self._epoch
        failure: list[Exception] = []

        async def work() -> None:
            try:
                await act()
            except Exception as error:  # noqa: BLE001 - raised again below, bare
                failure.append(error)
            beating.cancel()

        async def beat() -> None:
            try:
                await self._beats(link)
            except Unavailable as error:
                _log.warning("leader_lost_its_lock", reason=error.message)
            self._epoch = None
            working.cancel()

        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(work())
                beating = group.create_task(beat())
        except asyncio.CancelledError:
            await self._resign(epoch)
            raise
        for error in failure:
            raise error

    async def _resign(self, epoch: int | None) -> None:
        """Spare the next leader its wait."""
        if epoch is None:
            return
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), self._store.begin() as rows:
                await rows.replicas.resign(epoch)
        except (AtollError, TimeoutError) as error:
            _log.info("leader_not_resigned", reason=str(error))

    async def _beats(self, link: Any, *, seconds: float | None = None) -> None:
        """Ask at intervals whether the connection lasts. Raises `Unavailable` when it does not."""
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        while end is None or loop.time() < end:
            await asyncio.sleep(BEAT_SECONDS)
            await _ask(link, "SELECT 1")

    @asynccontextmanager
    async def _try_lock(self) -> AsyncIterator[Any]:
        """Yield a connection that holds the lock, or None while another one holds it."""
        driver = import_module("asyncpg")
        try:
            link = await driver.connect(
                self._url,
                timeout=PATIENCE_SECONDS,
                server_settings={"application_name": f"atoll leader {self._name}"[:63]},
            )
        except (OSError, ValueError, driver.PostgresError, driver.InterfaceError) as error:
            raise Unavailable(f"The database cannot be reached: {error}") from error
        try:
            taken = await _ask(link, f"SELECT pg_try_advisory_lock({LEADER_LOCK})")
            yield link if taken else None
        finally:
            link.terminate()


async def _ask(link: Any, question: str) -> Any:
    driver = import_module("asyncpg")
    faults = (OSError, driver.PostgresError, driver.InterfaceError, driver.InternalClientError)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await link.fetchval(question)
    except (*faults, TimeoutError) as error:
        raise Unavailable(f"The database did not answer: {error}") from error
