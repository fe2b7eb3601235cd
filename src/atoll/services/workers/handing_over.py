"""Handing a worker's conversation over: to a person's terminal, and back to the machine.

The agent has one process tree at any time: the one ends before the other begins. Each step can be
repeated; a control plane that is killed between two leaves a worker that a repetition completes.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from atoll.domain.agents.resumable import is_conversation
from atoll.domain.errors import AtollError, Conflict, Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.workers.desktop import Desktop
from atoll.domain.workers.lifecycle import HandOver, Holder
from atoll.domain.workers.placement import desktop_place
from atoll.domain.workers.record import WorkerRecord
from atoll.domain.workers.snapshot import WorkerSnapshot
from atoll.domain.workers.talk import MOST_THREADS, WorkerTalk
from atoll.ports.outside.worker_host import WorkerHost
from atoll.services.agents.agents import Agents
from atoll.services.ground import Ground
from atoll.services.workers.transitions import WorkerTransitions
from atoll.services.workers.workers import Workers, check_right
from atoll.wire.contract.agents import ActionBody, OpenAgentBody
from atoll.wire.words.workers import WorkerStatus


@dataclass(frozen=True, slots=True)
class TakenWorker:
    """The terminal of a conversation that a person has taken. `desktop` is the machine that it is
    on, where that is no sandbox: only this machine reaches it."""

    worker_id: str
    sandbox_id: SandboxId
    terminal_id: str
    thread_id: str
    desktop: str | None = None


class DesktopHandover(Protocol):
    """Hand-overs on desktops, whose terminals are out of reach of everybody else."""

    async def hold(self, worker: WorkerRecord, thread_id: str) -> str:
        """Have the desktop give a thread to a terminal of its person, and return its id. Raises
        `Failed` and `Unavailable`."""
        ...

    async def give_back(self, worker: WorkerRecord, thread_id: str) -> str:
        """Have the desktop end that terminal and start the agent again; returns the agent's id.
        Raises as `hold`."""
        ...


class Handovers:
    """Use cases on who has the conversation of a worker. Raise as those of `Workers`."""

    def __init__(
        self,
        ground: Ground,
        transitions: WorkerTransitions,
        workers: Workers,
        *,
        host: WorkerHost,
        agents: Agents,
        desktops: DesktopHandover,
    ) -> None:
        self._ground = ground
        self._transitions = transitions
        self._workers = workers
        self._host = host
        self._agents = agents
        self._desktops = desktops

    async def take(
        self,
        caller: Principal,
        worker_id: str,
        thread_id: str | None,
        *,
        desktop: str | None = None,
    ) -> TakenWorker:
        """Give a thread, by default the newest, to a terminal; the same one when it is repeated.
        `desktop` is the linked machine that the caller sits at. Raises `Invalid` for a thread
        that the worker does not have and a desktop where it is in a sandbox, `Conflict` for a
        worker that does not run or said nothing yet, while a terminal has another thread, and with
        code `on_desktop` for one that runs on another machine than the caller's."""
        record = await self._find_worker(caller, worker_id)
        place = await self._desktop_of(record)
        if place is not None:
            _check_place(record, place, desktop, self._ground.clock.now())
        elif desktop is not None and record.sandbox_id is not None:
            raise Invalid(
                f"Worker {worker_id} is in a sandbox, which any machine reaches: leave it out.",
                field="desktop",
            )
        if thread_id is not None and not is_conversation(thread_id):
            raise Invalid("thread_id is no id of a conversation", field="thread_id")
        if record.worker.holder is Holder.PERSON:
            thread = record.worker.held_thread
            _check_held(worker_id, thread, thread_id)
        else:
            _check_known(record, thread_id)
            thread = thread_id or _find_resumable_thread(record.talk)
        if thread is None:
            raise Conflict(f"Worker {worker_id} has no thread yet: begin one first.")
        held, _ = await self._transitions.apply(record.key, HandOver(Holder.PERSON, thread))
        try:
            if place is not None:
                return await self._opened_there(held, thread, place)
            return await self._open_terminal(caller, held, thread)
        except AtollError:
            await self._return_to_machine(held)
            raise

    async def give_back(self, caller: Principal, worker_id: str) -> WorkerSnapshot:
        """Give the conversation back to the machine; nothing, where it has it."""
        record = await self._find_worker(caller, worker_id)
        if record.worker.holder is Holder.PERSON:
            await self._return_to_machine(record)
        return await self._workers.get(caller, worker_id)

    async def _find_worker(self, caller: Principal, worker_id: str) -> WorkerRecord:
        """Return a worker of the caller's, who may use agents. Raises `NotFound`, `Forbidden`."""
        check_right(caller, Capability.AGENT_USE)
        return await self._workers.known(caller, worker_id)

    async def _desktop_of(self, record: WorkerRecord) -> Desktop | None:
        """Return the desktop that a worker is on."""
        async with self._ground.store.read() as rows:
            lease = await rows.host_leases.get(record.key, record.worker.epoch)
            return None if lease is None else await rows.desktops.get(lease.desktop_id)

    async def _opened_there(self, held: WorkerRecord, thread: str, desktop: Desktop) -> TakenWorker:
        """Return the terminal on a desktop, which that opens once the machine has ended."""
        terminal = await self._desktops.hold(held, thread)
        place = SandboxId(desktop_place(held.key, desktop.id))
        return TakenWorker(held.created.worker_id, place, terminal, thread, desktop.name)

    async def _open_terminal(
        self, caller: Principal, held: WorkerRecord, thread: str
    ) -> TakenWorker:
        """Return the terminal with the thread, which is opened once the machine has ended."""
        sandbox_id = held.sandbox_id
        if sandbox_id is None:
            raise Conflict(f"Worker {held.created.worker_id} has no sandbox here.")
        there = await self._at_terminal(caller, held)
        if there is None:
            await self._host.quiet(held)
            body = OpenAgentBody(agent=held.created.agent, mode="tui", conversation=thread)
            opened = await self._agents.open(caller, sandbox_id, body)
            there = await self._store_terminal_agent(caller, held, opened.id)
        return TakenWorker(held.created.worker_id, sandbox_id, there, thread)

    async def _at_terminal(self, caller: Principal, held: WorkerRecord) -> str | None:
        """Return the agent of the person, while it runs."""
        listing = await self._agents.list(caller, str(held.sandbox_id))
        ids = [agent.id for agent in listing.agents if agent.mode == "tui"]
        return held.agent_id if held.agent_id in ids else None

    async def _store_terminal_agent(
        self, caller: Principal, held: WorkerRecord, agent_id: str
    ) -> str:
        """Store the agent of a terminal; returns the one that is stored. A second one, which a
        request beside this one began, is ended, and so is one of a worker that stops."""
        async with self._ground.store.begin() as rows:
            now = await rows.workers.get(held.key)
            runs = now is not None and now.worker.status is WorkerStatus.RUNNING
            if runs and now is not None and now.agent_id == held.agent_id:
                await rows.workers.put(replace(now, agent_id=agent_id))
                return agent_id
        stop = ActionBody(action="stop")
        await self._agents.act(caller, str(held.sandbox_id), agent_id, body=stop)
        if not runs or now is None:
            raise Conflict(f"Worker {held.created.worker_id} does not run any more.")
        return now.agent_id

    async def _return_to_machine(self, held: WorkerRecord) -> None:
        """End the agent at the terminal, and have the machine resume the thread."""
        thread = held.worker.held_thread or ""
        if await self._desktop_of(held) is not None:
            agent_id = await self._desktops.give_back(held, thread)
        else:
            await self._host.quiet(held)
            agent_id = await self._host.start_agent(held)
        async with self._ground.store.begin() as rows:
            now = await rows.workers.get(held.key)
            if now is None or now.worker.epoch != held.worker.epoch:
                return
            noted = replace(now, agent_id=agent_id)
            await self._transitions.step(rows, noted, HandOver(Holder.MACHINE, thread))
        self._transitions.announce(held.key)


def _check_place(
    record: WorkerRecord, desktop: Desktop, caller_at: str | None, now: datetime
) -> None:
    """Check that the caller sits at the desktop that a worker runs on. Nothing reaches a terminal
    there over the network: it has what its person has. Raises `Conflict`."""
    worker_id = record.created.worker_id
    if caller_at != desktop.name:
        raise Conflict(
            f"Worker {worker_id} runs on the desktop {desktop.name}, whose terminals are reached "
            f"from that machine alone: run `atoll worker take {worker_id}` there.",
            code="on_desktop",
        )
    if not desktop.is_there(now):
        raise Conflict(
            f"`atoll desktop run` does not run on {desktop.name} now: start it first.",
            code="worker_unavailable",
        )


def _check_held(worker_id: str, held: str | None, wanted: str | None) -> None:
    """Check that a repeated hand-over names the thread that a terminal has. Raises `Conflict`."""
    if wanted not in (None, held):
        raise Conflict(
            f"A terminal has thread {held} of worker {worker_id}: give that back before you take "
            "another.",
            code="held_by_person",
            field="thread_id",
        )


def _check_known(record: WorkerRecord, wanted: str | None) -> None:
    """Check that a worker has a thread, as far as all of its threads are kept. Raises
    `Invalid`."""
    talk = [thread.thread_id for thread in record.talk.threads]
    known = {*talk, record.created.thread_id, record.worker.held_thread}
    if wanted is not None and wanted not in known and len(talk) < MOST_THREADS:
        raise Invalid(
            f"Worker {record.created.worker_id} has no thread {wanted}; it has "
            f"{', '.join(talk[-5:]) or 'none yet'}.",
            field="thread_id",
        )


def _find_resumable_thread(talk: WorkerTalk) -> str | None:
    """Return the newest thread that a terminal can resume, preferably one with a turn."""
    threads = sorted(talk.threads, key=lambda thread: thread.turn_id is not None)
    ids = [thread.thread_id for thread in threads if is_conversation(thread.thread_id)]
    return ids[-1] if ids else None
