"""Wakes: Atoll asks an idle agent, each wake once, and never amid what a person types.

`domain.tools.waking` decides which agent, and whether now. A control plane that died before it had
the answer gives the same wake again.
"""

import asyncio
from collections import OrderedDict
from dataclasses import replace

from atoll.domain.agents.card import CardKind, CardState, Draft
from atoll.domain.errors import Conflict, NotFound
from atoll.domain.ids import TerminalId
from atoll.domain.tools.waking import HOLD_REASONS, SleepingAgent, hold_of, woken_among
from atoll.runtime.agents.agents import TUI, Agents
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.terminals.terminals import Terminals
from atoll.wire.contract.agents import WakeBody

REMEMBERED = 64
"""The wakes that are known again; a sandbox has one at a time."""


class Wakes:
    """The wakes of one sandbox's agents."""

    def __init__(self, agents: Agents, terminals: Terminals) -> None:
        self._agents = agents
        self._terminals = terminals
        self._given: OrderedDict[str, AgentSession] = OrderedDict()
        self._giving: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    async def give(self, wake: WakeBody) -> AgentSession:
        """Ask the agent, and return it. One that has this wake already is asked no more. Raises
        `Conflict` with the reason while it cannot be woken, `NotFound` without such an agent."""
        while self._giving is not None:
            await asyncio.shield(self._giving)
        known = self._given.get(wake.wake_id)
        if known is not None:
            return known
        self._giving = self._loop.create_future()
        try:
            session = await self._ask(wake)
            self._given[wake.wake_id] = session
            while len(self._given) > REMEMBERED:
                self._given.popitem(last=False)
            return session
        finally:
            self._giving.set_result(None)
            self._giving = None

    async def _ask(self, wake: WakeBody) -> AgentSession:
        sleeper = woken_among(map(self._asleep, self._agents.all()))
        if sleeper is None:
            raise NotFound("no agent that can be woken runs here", code="no_agent")
        reason = hold_of(sleeper)
        if reason is not None:
            raise Conflict(f"{HOLD_REASONS[reason]}: it is not woken now", code=reason)
        session = self._agents.get(sleeper.id)
        await session.ask(wake.prompt)
        session.put(
            Draft(
                f"wake:{wake.wake_id}",
                CardKind.STATUS,
                CardState.DONE,
                title=wake.title,
                text=wake.text,
                data={"wake": wake.wake_id},
            )
        )
        return session

    def _asleep(self, session: AgentSession) -> SleepingAgent:
        if session.identity.mode != TUI:
            return session.asleep
        control = self._terminals.get(TerminalId(session.identity.id)).control
        return replace(session.asleep, in_use=control.turn.in_use(self._loop.time()))
