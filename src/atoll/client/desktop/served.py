"""A worker that this machine serves: requests in, items out, and heartbeats between them.

Its agent is paused when a worker that may be reattached elsewhere was not heard for two heartbeats,
so two agents never work for one worker. A control plane that is away stops nothing else.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from atoll.client.aio.connection import Connection
from atoll.client.desktop.agent import HostedAgent
from atoll.client.desktop.calls import HostedLease, Item, deliver_call, refusal, response
from atoll.client.desktop.folders import WorkerFolder
from atoll.client.desktop.items import item_of, substitute
from atoll.client.desktop.outbox import Outbox, OutOfStep
from atoll.client.desktop.pieces import ItemPlaces, LivePieces
from atoll.client.made.workers.deliveries import Ingest
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
)
from atoll.domain.workers.dialled import FOLLOW_SECONDS, HostAct
from atoll.domain.workers.heartbeat import INTERVAL, must_pause
from atoll.wire.contract import workers as contract

PAGE: Final = 100
SPOOL_SECONDS: Final = 2
_OVER = (Unauthenticated, NotFound, Forbidden, OutOfStep)

log = logging.getLogger("atoll.desktop")


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of a lease, in seconds; a test makes all of them shorter by `scale`."""

    scale: float = 1.0

    @property
    def interval(self) -> float:
        """Between two heartbeats."""
        return INTERVAL.total_seconds() * self.scale

    @property
    def retry(self) -> float:
        """Before a delivery is tried again."""
        return min(1.0, self.interval / 10)

    def since(self, seconds: float) -> timedelta:
        """Return a time that has passed, as the lease counts it."""
        return timedelta(seconds=seconds / self.scale)


USUAL_PACE: Final = Pace()


class ServedWorker:
    """A worker in one epoch, from its start to the end of its agent or its lease."""

    def __init__(
        self,
        connection: Connection,
        lease: HostedLease,
        agent: HostedAgent,
        *,
        folder: WorkerFolder,
        pace: Pace,
    ) -> None:
        self.lease = lease
        self.is_paused = False
        self._connection = connection
        self._agent = agent
        self._folder = folder
        self._pace = pace
        self._outbox = Outbox()
        self._places = ItemPlaces(agent.base)
        self._pieces = LivePieces(agent, self._places, self._deliver_pieces)
        self._accepted_at = asyncio.get_running_loop().time()
        self._unsure = False
        self._stopping = False
        self._last = False
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Serve until the agent was stopped and all was taken, or the lease has ended."""
        self._outbox.add(response(HostAct.START, {"agent_id": self._agent.agent_id}))
        async with asyncio.TaskGroup() as tasks:
            acts = (self._read(), self._send(), self._watch(), self._pieces.run())
            running = [tasks.create_task(act) for act in acts]
            await self._over.wait()
            for task in running:
                task.cancel()

    async def request(self, request_id: str, method: str, params: Mapping[str, object]) -> None:
        """Pass a request on, once, whatever is repeated: its receipt comes by the spool."""
        body = contract.request_body(request_id, method, params)
        try:
            await self._agent.client.call(contract.request_worker(self._agent.worker, body))
        except AtollError as err:
            self._outbox.add(refusal(request_id, "worker_unavailable", err.message))

    async def stop(self) -> None:
        """Interrupt the agent and end it; what it still says is delivered before the receipt."""
        self._stopping = True
        await self._agent.quiet()
        self._agent.is_held = False
        self._folder.close_terminal()

    async def hold(self, thread_id: str) -> None:
        """Give the conversation to this machine's person: the machine ends, and a terminal has the
        thread. Its receipt says so, or why not."""
        try:
            await self._agent.hold(thread_id)
            self._folder.keep_terminal(self._agent.runtime, self._agent.terminal_id)
        except (AtollError, OSError) as err:
            self._outbox.add(refusal(HostAct.HOLD, "internal_error", str(err)))
            return
        self._outbox.add(response(HostAct.HOLD, {"agent_id": self._agent.terminal_id}))

    async def give_back(self, thread_id: str) -> None:
        """Give the conversation back to the machine. Its receipt says so, or why not."""
        self._folder.close_terminal()
        try:
            await self._agent.give_back(thread_id)
        except AtollError as err:
            self._outbox.add(refusal(HostAct.RETURN, "internal_error", err.message))
            return
        self._outbox.add(response(HostAct.RETURN, {"agent_id": self._agent.agent_id}))

    def follow(self, seconds: float) -> None:
        """Deliver the pieces of text that the agent says, for some seconds."""
        self._pieces.follow(min(seconds, FOLLOW_SECONDS))
        self._outbox.add(response(HostAct.FOLLOW, {}))

    async def _read(self) -> None:
        """Move what the agent says from the spool to the outbox, until the agent has ended."""
        client, worker, after = self._agent.client, self._agent.worker, self._agent.base
        while True:
            await self._outbox.wait_for_room()
            try:
                page = await client.call(
                    contract.read_spool(worker, after=after, limit=PAGE, wait_seconds=SPOOL_SECONDS)
                )
                record = await client.call(contract.get_worker(worker))
            except AtollError:
                if not self._agent.runtime.lives():
                    self._add_last("Its runtime has ended.")
                    return
                await asyncio.sleep(self._pace.retry)
                continue
            for entry in page.entries:
                after = entry.n
                number = self._outbox.add(item_of(entry), spooled=entry.n)
                self._places.put(entry.n, number)
            if not record.agent_id and record.last <= after and not self._agent.is_held:
                self._add_last("Its agent has ended.")
                return

    def _add_last(self, reason: str) -> None:
        if self._stopping:
            self._outbox.add(response(HostAct.STOP, {}))
        else:
            self._outbox.add(refusal(HostAct.END, "worker_unavailable", reason))
        self._last = True

    async def _send(self) -> None:
        """Deliver what waits, and a heartbeat where nothing does for an interval."""
        while not (self._last and not self._outbox):
            await self._outbox.wait_for_items(self._pace.interval)
            first, items = self._outbox.batch()
            sent_at = asyncio.get_running_loop().time()
            try:
                call = deliver_call(self.lease, first, items)
                taken = await self._connection.read(Ingest, call)
                await self._settle(taken, len(items), sent_at)
            except AtollError as err:
                if _is_over(err):
                    log.warning("%s: its lease is over: %s", self.lease.worker_id, err.message)
                    await self._end_lease()
                    return
                if items and _is_refused(err):
                    await self._deliver_first(first, items)
                else:
                    self._unsure = True
                    await asyncio.sleep(self._pace.retry)
                continue
            if items and not taken.taken:
                await asyncio.sleep(self._pace.retry)
        self._over.set()

    async def _deliver_first(self, first: int, items: list[Item]) -> None:
        """Deliver the first item alone; one that is refused by itself loses its place to another
        one, which is an error where a request waits for its receipt."""
        try:
            taken = await self._connection.read(Ingest, deliver_call(self.lease, first, items[:1]))
            self._outbox.settle(taken.expected, sent=None if self._unsure else 1)
        except AtollError as err:
            if not _is_refused(err):
                await asyncio.sleep(self._pace.retry)
                return
            log.warning("%s: an item was refused: %s", self.lease.worker_id, err.message)
            self._outbox.replace(substitute(items[0], err.message))

    async def _settle(self, taken: Ingest, sent: int, sent_at: float) -> None:
        """Forget what was taken. Raises `OutOfStep`."""
        before = self._outbox.spooled
        first, _ = self._outbox.batch()
        if taken.expected == first + sent and taken.taken < sent and not self._unsure:
            raise OutOfStep("items of this lease were delivered from elsewhere")
        self._outbox.settle(taken.expected, sent=None if self._unsure else sent)
        self._unsure = False
        self._accepted_at = sent_at
        if self._outbox.spooled > before:
            done = contract.acknowledge_spool(self._agent.worker, self._outbox.spooled)
            # A spool that keeps them delivers them once all the same.
            with contextlib.suppress(AtollError):
                await self._agent.client.call(done)
        # An answer may have been long on its way: the lease may be somebody else's by now.
        if self.is_paused and not self._must_pause():
            self.is_paused = False
            await self._agent.resume()

    async def _deliver_pieces(self, pieces: Sequence[Item]) -> None:
        """Deliver pieces of text; those that do not arrive are lost."""
        first, _ = self._outbox.batch()
        with contextlib.suppress(AtollError):
            await self._connection.call(deliver_call(self.lease, first, (), pieces))

    async def _watch(self) -> None:
        """Pause the agent once the control plane may call this host lost."""
        while True:
            await asyncio.sleep(self._pace.retry)
            if not self.is_paused and self._must_pause():
                self.is_paused = True
                await self._agent.pause()

    def _must_pause(self) -> bool:
        silent = asyncio.get_running_loop().time() - self._accepted_at
        return must_pause(self._pace.since(silent), reattachable=self.lease.reattachable)

    async def _end_lease(self) -> None:
        """Kill the agent: its worker is somebody else's, or nobody's, and must not run again."""
        self._stopping = True
        await self._agent.end()
        self._over.set()


def _is_over(err: AtollError) -> bool:
    """Report whether the lease has ended, or the server cannot go on with it."""
    return isinstance(err, _OVER) or (isinstance(err, Conflict) and err.code == "stale_lease")


def _is_refused(err: AtollError) -> bool:
    """Report whether an item of the batch can never be taken as it is."""
    return isinstance(err, Invalid) or err.code == "too_large"
