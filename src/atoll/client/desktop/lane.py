"""The lane of a desktop: it reports that it is there, follows its offers, and serves its workers.

Offers come again on each connection until they are receipted, so each is done once for its epoch.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from atoll.client.aio.connection import Connection
from atoll.client.desktop.calls import (
    HostedLease,
    Ingest,
    Item,
    absence_call,
    deliver_call,
    offers_call,
    presence_call,
    refusal,
    response,
)
from atoll.client.desktop.folders import WorkerFolder, kept_workers
from atoll.client.desktop.served import USUAL_PACE, Pace, ServedWorker, start_agent
from atoll.domain.errors import AtollError, NotFound, Unavailable
from atoll.domain.worker.dialled import HostAct
from atoll.ports.outside.local_wall import LocalRuntime, LocalWall
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.http.server_sent import ServerSent, ServerSentLines
from atoll.wire.http.unreadable import UNREADABLE

PRESENCE_SECONDS: Final = 8.0
AGAIN_SECONDS: Final = 2.0
_ATTEMPTS: Final = 5
"""To deliver a receipt for a worker that does not run."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The lane of one desktop on this machine. `say` receives a line for each thing that a person
    would want to see."""

    connection: Connection
    name: str
    wall: LocalWall
    folder: Path
    say: Callable[[str], None]
    pace: Pace = USUAL_PACE


@dataclass(slots=True)
class LaneRun:
    """Run of a lane: the workers that it serves, and the tokens that came before a start."""

    lane: Lane
    served: dict[str, ServedWorker] = field(default_factory=dict)
    begun: set[tuple[str, int]] = field(default_factory=set)
    tokens: dict[tuple[str, int], HostedLease] = field(default_factory=dict)
    running: set[asyncio.Task[None]] = field(default_factory=set)
    unlinked: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Serve until cancelled, or until the desktop is unlinked (`NotFound`)."""
        connection, lane = self.lane.connection, self.lane
        await connection.call(presence_call(lane.name, lane.wall.isolation))
        for folder in kept_workers(lane.folder):
            await self._report_ended(folder)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._spawn(tasks, self._present())
                self._spawn(tasks, self._follow(tasks))
                await self.unlinked.wait()
                for one in tuple(self.running):
                    one.cancel()
        finally:
            try:
                async with asyncio.timeout(2):
                    await connection.call(absence_call(lane.name))
            except (AtollError, TimeoutError):
                lane.say("the server was not told that this lane ends")
        raise NotFound(f"{lane.name} is not linked any more: `atoll desktop link`")

    def _spawn(self, tasks: asyncio.TaskGroup, act: Coroutine[object, object, None]) -> None:
        """Run something until it ends, or this lane does."""
        task = tasks.create_task(act)
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def _present(self) -> None:
        lane = self.lane
        while True:
            await asyncio.sleep(PRESENCE_SECONDS * lane.pace.scale)
            try:
                await lane.connection.call(presence_call(lane.name, lane.wall.isolation))
            except NotFound:
                self.unlinked.set()
            except AtollError as err:
                lane.say(f"the server does not answer, its workers go on: {err.message}")

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        """Follow offers over as many connections as it takes."""
        while True:
            lines = ServerSentLines()
            try:
                async with self.lane.connection.open(offers_call(self.lane.name)) as answer:
                    async for line in answer.lines():
                        found = lines.read(line)
                        if found is not None:
                            self._read(found, tasks)
            except NotFound:
                self.unlinked.set()
            except Unavailable:
                pass
            except AtollError as err:
                self.lane.say(f"its offers are not to be had: {err.message}")
            await asyncio.sleep(AGAIN_SECONDS * self.lane.pace.scale)

    def _read(self, found: ServerSent, tasks: asyncio.TaskGroup) -> None:
        """Take one frame; what a server sends is not trusted."""
        try:
            self._take(found.kind, json.loads(found.data), tasks)
        except (AtollError, KeyError, TypeError, ValueError) as err:
            self.lane.say(f"the server sent an offer that cannot be read: {err!r:.200}")

    def _take(self, kind: str, told: Mapping[str, object], tasks: asyncio.TaskGroup) -> None:
        """Begin what a frame asks for."""
        worker_id, epoch = str(told["worker_id"]), int(str(told["epoch"]))
        place = (worker_id, epoch)
        if kind == "lease":
            self.tokens[place] = HostedLease(
                worker_id, epoch, str(told["token"]), bool(told["reattachable"])
            )
            return
        folder = WorkerFolder(self.lane.folder, worker_id)
        served = self.served.get(worker_id)
        running = served if served is not None and served.lease.epoch == epoch else None
        match told:
            case {"provision": dict() as order} if place in self.tokens:
                if place not in self.begun:
                    self.begun.add(place)
                    self._spawn(tasks, self._serve(folder, self.tokens[place], order))
            case {"request": dict() as request}:
                self._spawn(tasks, self._request(folder, running, request))
            case {"stop": dict()}:
                self._spawn(tasks, self._stop(folder, running))
            case {"remove": dict()}:
                self._spawn(tasks, self._remove(folder))
            case _:
                self.lane.say(f"an offer for {worker_id} says nothing that is known here")

    async def _serve(
        self, folder: WorkerFolder, lease: HostedLease, order: Mapping[str, object]
    ) -> None:
        lane = self.lane
        earlier = self.served.get(folder.worker_id)
        if earlier is not None:
            await earlier.stop()
        try:
            folder.make()
            folder.keep(lease)
            async with lane.wall.start(folder.place) as runtime:
                failure = await self._served(runtime, lease, order)
        except (AtollError, OSError) as err:
            failure = str(err)
        if failure is None:
            lane.say(f"{folder.worker_id} has ended here")
            return
        lane.say(f"{folder.worker_id} did not start: {failure}")
        await self._deliver(lease, refusal(HostAct.START, "internal_error", failure))

    async def _served(
        self, runtime: LocalRuntime, lease: HostedLease, order: Mapping[str, object]
    ) -> str | None:
        """Serve a worker until it has ended; returns why its agent did not start, None if it
        did."""
        lane = self.lane
        try:
            agent = await start_agent(runtime.client, lease.worker_id, _opening(order))
        except AtollError as err:
            return err.message
        served = ServedWorker(lane.connection, lease, runtime, agent, pace=lane.pace)
        self.served[lease.worker_id] = served
        lane.say(f"{lease.worker_id} runs here")
        try:
            await served.run()
        finally:
            if self.served.get(lease.worker_id) is served:
                del self.served[lease.worker_id]
        return None

    async def _request(
        self, folder: WorkerFolder, served: ServedWorker | None, request: Mapping[str, object]
    ) -> None:
        request_id, method = str(request["request_id"]), str(request["method"])
        if served is None:
            await self._receipt(folder, refusal(request_id, "worker_unavailable", "It has ended."))
            return
        try:
            params = json.loads(str(request.get("params") or "{}"))
        except UNREADABLE:
            params = {}
        await served.request(request_id, method, params if isinstance(params, dict) else {})

    async def _stop(self, folder: WorkerFolder, served: ServedWorker | None) -> None:
        if served is not None:
            await served.stop()
            return
        await self._receipt(folder, response(HostAct.STOP, {}))

    async def _remove(self, folder: WorkerFolder) -> None:
        lease = folder.lease()
        await asyncio.to_thread(folder.remove)
        self.lane.say(f"the files of {folder.worker_id} were removed")
        if lease is not None:
            await self._deliver(lease, response(HostAct.REMOVE, {}))

    async def _report_ended(self, folder: WorkerFolder) -> None:
        """Report a worker that an earlier run of this lane served and that ended with it."""
        lease = folder.lease()
        if lease is not None:
            why = refusal(HostAct.END, "worker_unavailable", "Its desktop's program was restarted.")
            await self._deliver(lease, why, attempts=1)

    async def _receipt(self, folder: WorkerFolder, item: Item) -> None:
        lease = folder.lease()
        if lease is not None:
            await self._deliver(lease, item)

    async def _deliver(self, lease: HostedLease, item: Item, *, attempts: int = _ATTEMPTS) -> None:
        """Deliver one receipt for a worker that does not run. A lease that has ended needs none."""
        for attempt in range(attempts):
            if attempt:
                await asyncio.sleep(self.lane.pace.retry)
            try:
                # Without items the answer is the number that is expected.
                begin = await self.lane.connection.read(Ingest, deliver_call(lease, 1, ()))
                call = deliver_call(lease, begin.expected, (item,))
                await self.lane.connection.read(Ingest, call)
            except Unavailable:
                continue
            except AtollError:
                return
            return


def _opening(order: Mapping[str, object]) -> OpenAgentBody:
    thread = order.get("thread_id")
    return OpenAgentBody(
        agent=str(order.get("agent") or "codex"),
        mode="machine",
        permissions="ask" if order.get("permissions") == "ask" else "allow",
        conversation=None if thread is None else str(thread),
    )
