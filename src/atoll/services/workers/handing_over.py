"""Handing a worker's conversation over: to a person's terminal, and back to the machine.

The agent has one process tree at any time: the one ends before the other begins. Each step can be
repeated; a control plane that is killed between two leaves a worker that a repetition completes.
"""

from dataclasses import dataclass, replace

from atoll.domain.agent.resumable import is_conversation
from atoll.domain.errors import AtollError, Conflict, Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.worker.lifecycle import HandOver, Holder, WorkerStatus
from atoll.domain.worker.record import WorkerRecord
from atoll.domain.worker.snapshot import WorkerSnapshot
from atoll.domain.worker.talk import WorkerTalk
from atoll.ports.outside.worker_host import WorkerHost
from atoll.services.agents.agents import Agents
from atoll.services.ground import Ground
from atoll.services.workers.admission import check_right
from atoll.services.workers.transitions import WorkerTransitions
from atoll.services.workers.workers import Workers
from atoll.wire.contract.agents import ActionBody, OpenAgentBody


@dataclass(frozen=True, slots=True)
class TakenWorker:
    """The terminal of a conversation that a person has taken."""

    worker_id: str
    sandbox_id: SandboxId
    terminal_id: str
    thread_id: str


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
    ) -> None:
        self._ground = ground
        self._transitions = transitions
        self._workers = workers
        self._host = host
        self._agents = agents

    async def take(self, caller: Principal, worker_id: str, thread_id: str | None) -> TakenWorker:
        """Give a thread, by default the newest, to a terminal; the same one when it is repeated.
        Raises `Conflict` for a worker that does not run or said nothing yet."""
        record = await self._known(caller, worker_id)
        await self._check_place(record)
        if thread_id is not None and not is_conversation(thread_id):
            raise Invalid("thread_id is no id of a conversation", field="thread_id")
        if record.worker.holder is Holder.PERSON:
            thread = record.worker.held_thread
        else:
            thread = thread_id or _newest(record.talk)
        if thread is None:
            raise Conflict(f"Worker {worker_id} has no thread yet: begin one first.")
        held, _ = await self._transitions.apply(record.key, HandOver(Holder.PERSON, thread))
        try:
            return await self._opened(caller, held, thread)
        except AtollError:
            await self._returned(held)
            raise

    async def give_back(self, caller: Principal, worker_id: str) -> WorkerSnapshot:
        """Give the conversation back to the machine; nothing, where it has it."""
        record = await self._known(caller, worker_id)
        if record.worker.holder is Holder.PERSON:
            await self._returned(record)
        return await self._workers.get(caller, worker_id)

    async def _known(self, caller: Principal, worker_id: str) -> WorkerRecord:
        check_right(caller, Capability.AGENT_USE)
        return await self._workers.known(caller, worker_id)

    async def _check_place(self, record: WorkerRecord) -> None:
        """Check that terminals reach the worker. Raises `Conflict`."""
        async with self._ground.store.read() as rows:
            lease = await rows.host_leases.get(record.key, record.worker.epoch)
        if lease is not None:
            raise Conflict(
                f"Worker {record.created.worker_id} runs on its person's desktop, out of reach of "
                "terminals: resume its thread there."
            )

    async def _opened(self, caller: Principal, held: WorkerRecord, thread: str) -> TakenWorker:
        """Return the terminal with the thread, which is opened once the machine has ended."""
        sandbox_id = held.sandbox_id
        if sandbox_id is None:
            raise Conflict(f"Worker {held.created.worker_id} has no sandbox here.")
        there = await self._at_terminal(caller, held)
        if there is None:
            await self._host.quiet(held)
            body = OpenAgentBody(agent=held.created.agent, mode="tui", conversation=thread)
            opened = await self._agents.open(caller, sandbox_id, body)
            there = await self._agreed(caller, held, opened.id)
        return TakenWorker(held.created.worker_id, sandbox_id, there, thread)

    async def _at_terminal(self, caller: Principal, held: WorkerRecord) -> str | None:
        """Return the agent of the person, while it runs."""
        found = await self._agents.list(caller, str(held.sandbox_id))
        ids = [one.id for one in found.agents if one.mode == "tui"]
        return held.agent_id if held.agent_id in ids else None

    async def _agreed(self, caller: Principal, held: WorkerRecord, agent_id: str) -> str:
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

    async def _returned(self, held: WorkerRecord) -> None:
        """End what is at the terminal, and have the machine resume the thread."""
        await self._host.quiet(held)
        agent_id = await self._host.start_codex(held)
        thread = held.worker.held_thread or ""
        async with self._ground.store.begin() as rows:
            now = await rows.workers.get(held.key)
            if now is None or now.worker.epoch != held.worker.epoch:
                return
            noted = replace(now, agent_id=agent_id)
            await self._transitions.step(rows, noted, HandOver(Holder.MACHINE, thread))
        self._transitions.announce(held.key)


def _newest(talk: WorkerTalk) -> str | None:
    """Return the thread with a turn, else the newest one that a terminal can resume."""
    threads = sorted(talk.threads, key=lambda one: one.turn_id is not None)
    ids = [one.thread_id for one in threads if is_conversation(one.thread_id)]
    return ids[-1] if ids else None
