"""A worker that this machine serves: requests in, items out, and heartbeats between them.

Its agent is paused when a worker that may be reattached elsewhere was not heard for two heartbeats,
so two agents never work for one worker. A control plane that is away stops nothing else.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from atoll.client.aio.connection import Connection
from atoll.client.desktop.calls import HostedLease, Ingest, Item, deliver_call, refusal, response
from atoll.client.desktop.outbox import Outbox
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
)
from atoll.domain.worker.dialled import HostAct
from atoll.domain.worker.heartbeat import INTERVAL, must_pause
from atoll.ports import RuntimeClient
from atoll.ports.outside.local_wall import LocalRuntime
from atoll.wire.contract import workers as contract
from atoll.wire.contract.agents import ActionBody, OpenAgentBody, act_on_agent, open_agent
from atoll.wire.contract.call import PathId
from atoll.wire.http.unreadable import UNREADABLE

PAGE: Final = 100
SPOOL_SECONDS: Final = 2
_LEASE_GONE = (Unauthenticated, NotFound, Forbidden)

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


@dataclass(frozen=True, slots=True)
class StartedAgent:
    """An agent that was opened for a worker. `base` is the last entry that its spool had."""

    agent_id: str
    base: int


class _Line(msgspec.Struct):
    """A message of an agent in the spool."""

    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"null")
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


async def start_agent(client: RuntimeClient, worker_id: str, order: OpenAgentBody) -> StartedAgent:
    """Open an agent in its machine mode for a worker. What an earlier epoch left in its spool is
    not delivered in this one. Raises what the runtime raises."""
    agent = await client.call(open_agent(order, principal=None))
    opening = contract.OpenWorkerBody(worker_id=worker_id, agent_id=agent.id)
    record = await client.call(contract.open_worker(opening))
    if record.last:
        await client.call(contract.acknowledge_spool(PathId(worker_id), record.last))
    return StartedAgent(agent.id, record.last)


class ServedWorker:
    """A worker in one epoch, from its start to the end of its agent or its lease."""

    def __init__(
        self,
        connection: Connection,
        lease: HostedLease,
        runtime: LocalRuntime,
        agent: StartedAgent,
        *,
        pace: Pace,
    ) -> None:
        self.lease = lease
        self.is_paused = False
        self._connection = connection
        self._runtime = runtime
        self._agent = agent
        self._pace = pace
        self._outbox = Outbox()
        self._accepted_at = asyncio.get_running_loop().time()
        self._stopping = False
        self._last = False
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Serve until the agent was stopped and all was taken, or the lease has ended."""
        self._outbox.add(response(HostAct.START, {"agent_id": self._agent.agent_id}))
        async with asyncio.TaskGroup() as tasks:
            acts = (self._read(), self._send(), self._watch())
            running = [tasks.create_task(one) for one in acts]
            await self._over.wait()
            for one in running:
                one.cancel()

    async def request(self, request_id: str, method: str, params: Mapping[str, object]) -> None:
        """Pass a request on, once, whatever is repeated: its receipt comes by the spool."""
        body = contract.request_body(request_id, method, params)
        try:
            await self._call_worker(body)
        except AtollError as err:
            self._outbox.add(refusal(request_id, "worker_unavailable", err.message))

    async def stop(self) -> None:
        """End the agent; what it still says is delivered before the receipt."""
        self._stopping = True
        await self._act("resume")
        await self._act("stop")

    async def _call_worker(self, body: contract.WorkerRequestBody) -> None:
        await self._runtime.client.call(contract.request_worker(PathId(self.lease.worker_id), body))

    async def _act(self, action: str) -> None:
        """Control the agent; one that has ended is left alone."""
        body = msgspec.convert({"action": action}, ActionBody)
        try:
            await self._runtime.client.call(act_on_agent(self._agent.agent_id, body, ()))
        except AtollError:
            return

    async def _read(self) -> None:
        """Move what the agent says from the spool to the outbox, until the agent has ended."""
        worker, after = PathId(self.lease.worker_id), self._agent.base
        while True:
            await self._outbox.room()
            try:
                page = await self._runtime.client.call(
                    contract.read_spool(worker, after=after, limit=PAGE, wait_seconds=SPOOL_SECONDS)
                )
                record = await self._runtime.client.call(contract.get_worker(worker))
            except AtollError:
                if not self._runtime.lives():
                    self._ended("Its runtime has ended.")
                    return
                await asyncio.sleep(self._pace.retry)
                continue
            for entry in page.entries:
                after = entry.n
                self._outbox.add(item_of(entry), spooled=entry.n)
            if not record.agent_id and record.last <= after:
                self._ended("Its agent has ended.")
                return

    def _ended(self, reason: str) -> None:
        if self._stopping:
            self._outbox.add(response(HostAct.STOP, {}))
        else:
            self._outbox.add(refusal(HostAct.END, "worker_unavailable", reason))
        self._last = True

    async def _send(self) -> None:
        """Deliver what waits, and a heartbeat where nothing does for an interval."""
        while not (self._last and not self._outbox):
            await self._outbox.news(self._pace.interval)
            first, items = self._outbox.batch()
            sent_at = asyncio.get_running_loop().time()
            try:
                call = deliver_call(self.lease, first, items)
                taken = await self._connection.read(Ingest, call)
            except Invalid as err:
                log.warning("%s: an item may be left out: %s", self.lease.worker_id, err.message)
                await self._without(first, items)
                continue
            except _LEASE_GONE:
                await self._lease_ended()
                return
            except AtollError as err:
                if isinstance(err, Conflict) and err.code == "stale_lease":
                    await self._lease_ended()
                    return
                await asyncio.sleep(self._pace.retry)
                continue
            await self._accepted(taken, sent_at)
            if items and not taken.taken:
                await asyncio.sleep(self._pace.retry)
        self._over.set()

    async def _without(self, first: int, items: list[Item]) -> None:
        """Deliver the first item alone; one that is refused by itself loses its place."""
        if len(items) == 1:
            self._outbox.skip()
            return
        try:
            taken = await self._connection.read(Ingest, deliver_call(self.lease, first, items[:1]))
        except Invalid:
            self._outbox.skip()
        except AtollError:
            await asyncio.sleep(self._pace.retry)
        else:
            self._outbox.settle(taken.expected)

    async def _accepted(self, taken: Ingest, sent_at: float) -> None:
        self._accepted_at = sent_at
        before = self._outbox.spooled
        self._outbox.settle(taken.expected)
        if self._outbox.spooled > before:
            done = contract.acknowledge_spool(PathId(self.lease.worker_id), self._outbox.spooled)
            # A spool that keeps them delivers them once all the same.
            with contextlib.suppress(AtollError):
                await self._runtime.client.call(done)
        if self.is_paused:
            self.is_paused = False
            await self._act("resume")

    async def _watch(self) -> None:
        """Pause the agent once the control plane may call this host lost."""
        while True:
            await asyncio.sleep(self._pace.retry)
            silent = asyncio.get_running_loop().time() - self._accepted_at
            since = self._pace.since(silent)
            if not self.is_paused and must_pause(since, reattachable=self.lease.reattachable):
                self.is_paused = True
                await self._act("pause")

    async def _lease_ended(self) -> None:
        """End the agent: its worker is somebody else's, or nobody's."""
        await self.stop()
        self._over.set()


def item_of(entry: contract.SpoolEntry) -> Item:
    """Return an entry of the spool as an item; what says nothing keeps its number."""
    if entry.kind == "response":
        return {"response": {"request_id": entry.request_id, "result": _text(entry.data)}}
    if entry.kind == "error":
        return _error_item(entry)
    try:
        line = msgspec.json.decode(entry.data, type=_Line)
    except UNREADABLE:
        return {"heartbeat": {}}
    if not line.method:
        return {"heartbeat": {}}
    said: dict[str, object] = {"method": line.method, "params": _text(line.params)}
    if not isinstance(line.id, msgspec.UnsetType):
        said["server_request_id"] = _text(line.id).strip('"')
    return {"event": said}


def _error_item(entry: contract.SpoolEntry) -> Item:
    error = msgspec.json.decode(entry.data, type=contract.RequestError)
    told: dict[str, object] = {
        "request_id": entry.request_id,
        "code": error.code,
        "message": error.message[:8000],
    }
    if error.agent is not None:
        told["data"] = msgspec.json.encode(error.agent).decode()
    return {"error": told}


def _text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()
