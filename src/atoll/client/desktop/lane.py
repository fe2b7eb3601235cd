"""The lane of a desktop: it reports that it is there, follows its offers, and serves its workers.

Offers come again on each connection until they are receipted, so each is done once for its epoch.
"""

import asyncio
import json
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from atoll.client.aio.connection import Connection
from atoll.client.desktop.agent import HostedAgent
from atoll.client.desktop.calls import (
    HostedLease,
    Item,
    absence_call,
    deliver_call,
    offers_call,
    presence_call,
    refusal,
    response,
)
from atoll.client.desktop.folders import WorkerFolder, list_worker_folders
from atoll.client.desktop.served import USUAL_PACE, Pace, ServedWorker
from atoll.client.made.workers.deliveries import Ingest
from atoll.domain.errors import AtollError, Invalid, LimitReached, NotFound, Unavailable
from atoll.domain.workers.dialled import FOLLOW_SECONDS, HostAct
from atoll.ports.outside.local_wall import LocalWall
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.http.server_sent import ServerSent, ServerSentLines

log = logging.getLogger("atoll.desktop")

PRESENCE_SECONDS: Final = 8.0
AGAIN_SECONDS: Final = 2.0
MOST_SERVED: Final = 32
"""The workers that run here at one time, whatever a server asks for."""
MOST_ACTS: Final = 500
"""The acts for offers at one time. Beyond it no offer is read."""
MOST_LEASES: Final = 1000
"""The tokens that wait for the offer after them."""
LONGEST_OFFER: Final = 8 * 1024 * 1024
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
    """Run of a lane: the workers that it serves, and the tokens that came before a start. What is
    asked for one worker is done in order, by its lock; `gone` is set once nothing of it runs."""

    lane: Lane
    served: dict[str, ServedWorker] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    tokens: OrderedDict[tuple[str, int], HostedLease] = field(default_factory=OrderedDict)
    locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    gone: dict[str, asyncio.Event] = field(default_factory=dict)
    acts: set[asyncio.Task[None]] = field(default_factory=set)
    running: set[asyncio.Task[None]] = field(default_factory=set)
    unlinked: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Serve until cancelled, or until the desktop is unlinked (`NotFound`)."""
        connection, lane = self.lane.connection, self.lane
        await connection.call(presence_call(lane.name, lane.wall.isolation))
        for folder in list_worker_folders(lane.folder):
            await self._report_ended(folder)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._spawn(tasks, self._report_presence())
                self._spawn(tasks, self._follow(tasks))
                await self.unlinked.wait()
                for task in tuple(self.running):
                    task.cancel()
        finally:
            try:
                async with asyncio.timeout(2):
                    await connection.call(absence_call(lane.name))
            except (AtollError, TimeoutError):
                lane.say("the server was not told that this lane ends")
        raise NotFound(f"{lane.name} is not linked any more: `atoll desktop link`")

    def _spawn(
        self, tasks: asyncio.TaskGroup, act: Coroutine[object, object, None]
    ) -> asyncio.Task[None]:
        """Run something until it ends, or this lane does."""
        task = tasks.create_task(act)
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    def _begin(self, tasks: asyncio.TaskGroup, act: Coroutine[object, object, None]) -> None:
        """Do what an offer asks for."""
        task = self._spawn(tasks, act)
        self.acts.add(task)
        task.add_done_callback(self.acts.discard)

    async def _report_presence(self) -> None:
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
            lines = ServerSentLines(longest=LONGEST_OFFER)
            try:
                async with self.lane.connection.open(offers_call(self.lane.name)) as answer:
                    async for line in answer.lines():
                        frame = lines.read(line)
                        if frame is not None:
                            self._read(frame, tasks)
                        while len(self.acts) >= MOST_ACTS:
                            await asyncio.wait(self.acts, return_when=asyncio.FIRST_COMPLETED)
            except NotFound:
                self.unlinked.set()
            except Unavailable:
                pass
            except AtollError as err:
                self.lane.say(f"its offers are not to be had: {err.message}")
            await asyncio.sleep(AGAIN_SECONDS * self.lane.pace.scale)

    def _read(self, frame: ServerSent, tasks: asyncio.TaskGroup) -> None:
        """Take one frame; what a server sends is not trusted."""
        try:
            self._take(frame.kind, json.loads(frame.data), tasks)
        except (AtollError, KeyError, TypeError, ValueError, RecursionError) as err:
            self.lane.say(f"the server sent an offer that cannot be read: {err!r:.200}")

    def _take(self, kind: str, offer: Mapping[str, object], tasks: asyncio.TaskGroup) -> None:
        """Begin what a frame asks for."""
        worker_id, epoch = str(offer["worker_id"]), int(str(offer["epoch"]))
        folder, place = WorkerFolder(self.lane.folder, worker_id), (worker_id, epoch)
        if kind == "lease":
            self._keep(HostedLease(*place, str(offer["token"]), bool(offer["reattachable"])))
            return
        match offer:
            case {"provision": dict() as order} if place in self.tokens:
                lease = self.tokens.pop(place)
                # An offer is repeated until its receipt is there, and an epoch never comes back.
                if self.begun.get(worker_id, 0) < epoch:
                    self.begun[worker_id] = epoch
                    self._begin(tasks, self._serve(folder, lease, order))
            case {"provision": dict()}:
                self.lane.say(f"an offer to start {worker_id} came without its token")
            case _:
                act = self._act(folder, epoch, offer)
                if act is not None:
                    self._begin(tasks, act)
                else:
                    self.lane.say(f"an offer for {worker_id} says nothing that is known here")

    def _act(
        self, folder: WorkerFolder, epoch: int, offer: Mapping[str, object]
    ) -> Coroutine[object, object, None] | None:
        """Return what an offer for a worker asks for, None for what is not known."""
        match offer:
            case {"request": {"request_id": str() as name, "method": str() as method, **more}}:
                return self._request(folder, epoch, name, method, more.get("params"))
            case {"stop": dict()}:
                return self._stop(folder, epoch)
            case {"hold": {"thread_id": str() as thread}}:
                return self._hand_over(folder, epoch, HostAct.HOLD, thread)
            case {"give_back": {"thread_id": str() as thread}}:
                return self._hand_over(folder, epoch, HostAct.RETURN, thread)
            case {"follow": dict()}:
                return self._follow_worker(folder, epoch)
            case {"remove": dict()}:
                return self._remove(folder)
            case _:
                return None

    def _keep(self, lease: HostedLease) -> None:
        """Keep a token until its offer comes, the next frame."""
        self.tokens[lease.worker_id, lease.epoch] = lease
        while len(self.tokens) > MOST_LEASES:
            self.tokens.popitem(last=False)

    def _find_running(self, worker_id: str, epoch: int) -> ServedWorker | None:
        """Return a worker that runs here in this epoch."""
        served = self.served.get(worker_id)
        return served if served is not None and served.lease.epoch == epoch else None

    async def _serve(
        self, folder: WorkerFolder, lease: HostedLease, order: Mapping[str, object]
    ) -> None:
        """Start a worker and serve it until it has ended. Until it runs, and until an earlier one
        is gone, nothing else is done for it."""
        lane, gone = self.lane, asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                async with self.locks[lease.worker_id]:
                    await self._end_earlier(lease.worker_id)
                    self.gone[lease.worker_id] = gone
                    served = await self._start_worker(stack, folder, lease, order)
                    self.served[lease.worker_id] = served
                lane.say(f"{lease.worker_id} runs here")
                try:
                    await served.run()
                finally:
                    folder.close_terminal()
                    del self.served[lease.worker_id]
            lane.say(f"{lease.worker_id} has ended here")
        except (AtollError, OSError) as err:
            lane.say(f"{lease.worker_id} did not start: {err}")
            await self._deliver(lease, refusal(HostAct.START, _code_of(err), str(err)))
        except Exception:
            log.exception("%s broke", lease.worker_id)
            lane.say(f"{lease.worker_id} broke here, and has ended")
        finally:
            gone.set()

    async def _start_worker(
        self,
        stack: AsyncExitStack,
        folder: WorkerFolder,
        lease: HostedLease,
        order: Mapping[str, object],
    ) -> ServedWorker:
        """Start the runtime and the agent of a worker. Raises what they raise, and `OSError`; then
        nothing is left of a worker that was not here before."""
        if sum(not event.is_set() for event in self.gone.values()) > MOST_SERVED:
            raise LimitReached(f"{MOST_SERVED} workers run on this desktop already.")
        lane, is_new = self.lane, not folder.place.exists()
        try:
            folder.make()
            folder.keep(lease)
            runtime = await stack.enter_async_context(lane.wall.start(folder.place))
            agent = HostedAgent(runtime, lease.worker_id, _opening(order))
            await agent.start()
        except (AtollError, OSError):
            if is_new:
                stack.callback(folder.remove)
            raise
        return ServedWorker(lane.connection, lease, agent, folder=folder, pace=lane.pace)

    async def _end_earlier(self, worker_id: str) -> None:
        """End a worker that runs here, and wait until nothing of it does."""
        if (served := self.served.get(worker_id)) is not None:
            await served.stop()
        if (gone := self.gone.get(worker_id)) is not None:
            await gone.wait()

    async def _request(
        self, folder: WorkerFolder, epoch: int, request_id: str, method: str, text: object
    ) -> None:
        """Pass a request on; params that cannot be read are none."""
        served = self._find_running(folder.worker_id, epoch)
        if served is None:
            await self._receipt(folder, refusal(request_id, "worker_unavailable", "It has ended."))
            return
        try:
            params = json.loads(str(text or "{}"))
        except (ValueError, RecursionError):
            params = {}
        await served.request(request_id, method, params if isinstance(params, dict) else {})

    async def _stop(self, folder: WorkerFolder, epoch: int) -> None:
        async with self.locks[folder.worker_id]:
            served = self._find_running(folder.worker_id, epoch)
            if served is not None:
                await served.stop()
                return
        await self._receipt(folder, response(HostAct.STOP, {}))

    async def _hand_over(
        self, folder: WorkerFolder, epoch: int, act: HostAct, thread_id: str
    ) -> None:
        """Give the conversation to this machine's person, or back to the machine."""
        async with self.locks[folder.worker_id]:
            served = self._find_running(folder.worker_id, epoch)
            if served is None:
                await self._receipt(folder, refusal(act, "worker_unavailable", "It has ended."))
            elif act is HostAct.HOLD:
                await served.hold(thread_id)
                self.lane.say(f"{folder.worker_id} waits for you: `atoll worker take`")
            else:
                await served.give_back(thread_id)

    async def _follow_worker(self, folder: WorkerFolder, epoch: int) -> None:
        served = self._find_running(folder.worker_id, epoch)
        if served is not None:
            served.follow(FOLLOW_SECONDS)
        else:
            why = refusal(HostAct.FOLLOW, "worker_unavailable", "It has ended.")
            await self._receipt(folder, why)

    async def _remove(self, folder: WorkerFolder) -> None:
        lease = folder.lease()
        async with self.locks[folder.worker_id]:
            await self._end_earlier(folder.worker_id)
            is_gone = await asyncio.to_thread(folder.remove)
        done = response(HostAct.REMOVE, {})
        if is_gone:
            self.lane.say(f"the files of {folder.worker_id} were removed")
        else:
            done = refusal(HostAct.REMOVE, "internal_error", "some of its files could not be")
            self.lane.say(f"some files of {folder.worker_id} could not be removed: {folder.place}")
        if lease is not None:
            await self._deliver(lease, done)

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


def _code_of(err: AtollError | OSError) -> str:
    """Return why a worker did not start, as its receipt says it. What is wrong with the request
    would be wrong everywhere; an agent that this machine does not have is elsewhere, perhaps."""
    at_fault = isinstance(err, Invalid) and err.field != "agent"
    return "invalid_request" if at_fault else "worker_unavailable"
