"""The agent of one worker on this machine: driven by requests, or at its person's terminal.

Both are in the worker's runtime, behind the same wall, and one ends before the other begins.
"""

import asyncio
import contextlib
from typing import Final

import msgspec

from atoll.domain.errors import AtollError
from atoll.domain.terminals.softlock import AgentState, Work
from atoll.domain.workers.methods import read_refusal, thread_request
from atoll.ports import RuntimeClient
from atoll.ports.outside.local_wall import LocalRuntime
from atoll.wire.contract import workers as contract
from atoll.wire.contract.agents import (
    ActionBody,
    AgentRecord,
    OpenAgentBody,
    act_on_agent,
    list_agents,
    open_agent,
)
from atoll.wire.contract.call import PathId

QUIET_SECONDS: Final = 10.0
"""The time that an interrupted agent may go on talking."""


class HostedAgent:
    """An agent that was opened for a worker. `base` is the last entry that the worker's spool had:
    what an earlier epoch left is not delivered in this one. `terminal_id` is that of its person
    while they have the conversation, and `is_held` is true from before the machine ends until it
    is back."""

    def __init__(self, runtime: LocalRuntime, worker_id: str, order: OpenAgentBody) -> None:
        self.runtime = runtime
        self.worker = PathId(worker_id)
        self.agent_id = ""
        self.terminal_id = ""
        self.is_held = False
        self.base = 0
        self._order = order

    @property
    def client(self) -> RuntimeClient:
        """The client of its runtime."""
        return self.runtime.client

    async def start(self) -> None:
        """Open the agent in its machine mode. Raises what the runtime raises, and `Invalid` for a
        conversation that the agent does not know."""
        record = await self._open_machine(self._order.conversation)
        if self._order.conversation is not None:
            await self._check_thread(self._order.conversation)
            # The answer to a request of our own is nobody's.
            record = await self.client.call(contract.get_worker(self.worker))
        self.base = record.last
        if record.last:
            await self.client.call(contract.acknowledge_spool(self.worker, record.last))

    async def _check_thread(self, thread_id: str) -> None:
        """Have the agent itself say whether it knows a conversation; one that does not is ended.
        Raises `Invalid`."""
        agent = self._order.agent
        body = thread_request(f"atoll-thread-{self.agent_id}", agent, thread_id)
        answer = await self.client.call(contract.request_worker(self.worker, body))
        refusal = read_refusal(agent, thread_id, answer)
        if refusal is not None:
            await self.end()
            raise refusal

    async def pause(self) -> None:
        """Pause it; one that has ended is left alone."""
        await self._act(self.agent_id, "pause")

    async def resume(self) -> None:
        """Let it go on; one that has ended is left alone."""
        await self._act(self.agent_id, "resume")

    async def quiet(self) -> None:
        """Interrupt its turn, let it say how that ended, and end it, wherever it is."""
        await self.resume()
        agent = await self._running_agent(self.agent_id)
        if agent is not None and agent.turn == Work.WORKING:
            await self._act(agent.id, "interrupt")
            await self._silence()
        for agent_id in filter(None, (self.agent_id, self.terminal_id)):
            await self._act(agent_id, "stop")

    async def end(self) -> None:
        """Kill it wherever it is, at once: what was paused does not run again."""
        body = ActionBody(action="stop", gaps=[0.0] * 4)
        for agent_id in filter(None, (self.agent_id, self.terminal_id)):
            with contextlib.suppress(AtollError):
                await self.client.call(act_on_agent(agent_id, body, ()))

    async def hold(self, thread_id: str) -> None:
        """Give a thread to a terminal; nothing where one has it. Raises what the runtime raises;
        then the machine has ended, and `give_back` begins it again."""
        self.is_held = True
        if self.terminal_id and await self._running_agent(self.terminal_id) is not None:
            return
        await self.quiet()
        order = msgspec.structs.replace(self._order, mode="tui", conversation=thread_id)
        self.terminal_id = (await self.client.call(open_agent(order, principal=None))).id

    async def give_back(self, thread_id: str) -> None:
        """End the terminal, and have the machine resume the thread; nothing where it has it. Raises
        what the runtime raises."""
        if not self.is_held:
            return
        await self.quiet()
        self.terminal_id = ""
        await self._open_machine(thread_id)
        self.is_held = False

    async def _open_machine(self, thread_id: str | None) -> contract.WorkerRecord:
        order = msgspec.structs.replace(self._order, mode="machine", conversation=thread_id)
        agent = await self.client.call(open_agent(order, principal=None))
        opening = contract.OpenWorkerBody(worker_id=self.worker, agent_id=agent.id)
        record = await self.client.call(contract.open_worker(opening))
        self.agent_id = agent.id
        return record

    async def _running_agent(self, agent_id: str) -> AgentRecord | None:
        """Return an agent while it runs."""
        with contextlib.suppress(AtollError):
            for agent in (await self.client.call(list_agents())).agents:
                if agent.id == agent_id and agent.agent_state != AgentState.STOPPED:
                    return agent
        return None

    async def _act(self, agent_id: str, action: str) -> None:
        """Control an agent; one that has ended is left alone."""
        body = msgspec.convert({"action": action}, ActionBody)
        with contextlib.suppress(AtollError):
            await self.client.call(act_on_agent(agent_id, body, ()))

    async def _silence(self) -> None:
        """Wait until the agent has said nothing for a second, but not for long."""
        with contextlib.suppress(TimeoutError, AtollError):
            async with asyncio.timeout(QUIET_SECONDS):
                last = (await self.client.call(contract.get_worker(self.worker))).last
                while True:
                    reading = contract.read_spool(self.worker, after=last, limit=1, wait_seconds=1)
                    page = await self.client.call(reading)
                    if page.last == last:
                        return
                    last = page.last
