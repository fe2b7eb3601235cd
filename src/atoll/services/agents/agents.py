"""Agents and their cards: use cases, and who may call them.

A thin forward to the sandbox's runtime, which holds agents, locks and cards. An agent at a
terminal has the terminal's id.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.people.principal import Principal
from atoll.ports import Channel, RuntimeClient
from atoll.services.identifiers import checked_id
from atoll.services.journals.journals import Journals
from atoll.services.lifecycle.room import SessionRoom
from atoll.services.provisioning.orders import complete_order
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.terminals.terminals import Terminals
from atoll.wire.contract import agents
from atoll.wire.contract.call import PathId, Query
from atoll.wire.words.terminals import Role

FOLLOW_WORDS = ("since", "heartbeat")
"""Query parameters that a client may send when it follows cards."""

_CARD = re.compile(r"[A-Za-z0-9._:-]{1,200}\Z")


class Agents:
    """Use cases on agents, with the values of the runtime contract. Every method raises `NotFound`,
    `Conflict`, `Forbidden`, `Unavailable`, and the errors of the runtime."""

    def __init__(
        self,
        access: RuntimeAccess,
        terminals: Terminals,
        room: SessionRoom,
        *,
        checks: AgentChecks,
        journals: Journals,
    ) -> None:
        self._access = access
        self._checks = checks
        self._journals = journals
        self._room = room
        self._terminals = terminals

    async def list(self, caller: Principal, ref: str) -> agents.AgentList:
        """List agents. A guest of one terminal sees only the agent there."""
        _, client = await self._terminals.runtime_for(caller, ref)
        listing = await client.call(agents.list_agents())
        if caller.guest_access is None or caller.guest_access.terminal_id is None:
            return listing
        return agents.AgentList(
            [agent for agent in listing.agents if agent.id == caller.guest_access.terminal_id]
        )

    async def open(
        self, caller: Principal, ref: str, body: agents.OpenAgentBody
    ) -> agents.AgentRecord:
        """Start an agent. Counts as activity. Raises `LimitReached` beyond a quota, and `Invalid`
        or `Forbidden` for an agent that cannot start there, or that must know a conversation and
        does not."""
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        await self._checks.check_start(sandbox, client, body.agent)
        order = complete_order(sandbox, body)
        opened = await self._room.opened(
            sandbox, lambda: _open_agent(client, order, caller), lambda agent: agent.id
        )
        await self._journals.remember(sandbox, opened.id, caller)
        return opened

    async def get(self, caller: Principal, ref: str, agent_id: str) -> agents.AgentRecord:
        """Return one agent."""
        _, client = await self._terminals.runtime_for(caller, ref, agent_id)
        return await client.call(agents.get_agent(_id(agent_id)))

    async def act(
        self, caller: Principal, ref: str, agent_id: str, *, body: agents.ActionBody
    ) -> agents.AgentRecord:
        """Pause, resume, stop or interrupt an agent, set whose turn it is, or lift its lock for its
        owner. Raises `Forbidden` for a guest who lifts a lock."""
        if body.action == "unlock" and caller.guest_access is not None:
            raise _owners()
        client, who = await self._client_for_control(caller, ref, agent_id)
        return await client.call(agents.act_on_agent(_id(agent_id), body, who))

    async def settings(self, caller: Principal, ref: str, agent_id: str) -> agents.SettingsRecord:
        """Return what can be changed of an agent, and the choices."""
        _, client = await self._terminals.runtime_for(caller, ref, agent_id)
        return await client.call(agents.agent_settings(_id(agent_id)))

    async def change(
        self, caller: Principal, ref: str, agent_id: str, *, body: agents.SettingsBody
    ) -> agents.SettingsRecord:
        """Change an agent's model or permission mode. Raises `Forbidden` for a guest."""
        if caller.guest_access is not None:
            raise _owners()
        client, who = await self._client_for_control(caller, ref, agent_id)
        return await client.call(agents.change_agent(_id(agent_id), body, who))

    async def ask(
        self, caller: Principal, ref: str, agent_id: str, *, body: agents.AskBody
    ) -> agents.AgentRecord:
        """Send an agent a prompt."""
        client, who = await self._client_for_control(caller, ref, agent_id)
        return await client.call(agents.ask_agent(_id(agent_id), body, who))

    async def cards(
        self, caller: Principal, ref: str, agent_id: str, *, since: int
    ) -> agents.CardsPage[msgspec.Raw]:
        """List the cards that changed after `since`."""
        _, client = await self._terminals.runtime_for(caller, ref, agent_id)
        return await client.call(agents.list_cards(_id(agent_id), since=since))

    async def card(
        self, caller: Principal, ref: str, agent_id: str, card: str
    ) -> agents.CardRecord:
        """Return one card."""
        checked = _card_id(card)
        _, client = await self._terminals.runtime_for(caller, ref, agent_id)
        return await client.call(agents.get_card(_id(agent_id), checked))

    async def answer(
        self, caller: Principal, ref: str, agent_id: str, *, card: str, body: agents.AnswerBody
    ) -> msgspec.Raw:
        """Answer the question of a card."""
        checked = _card_id(card)
        client, who = await self._client_for_control(caller, ref, agent_id)
        return await client.call(agents.answer_card(_id(agent_id), checked, body, who))

    @asynccontextmanager
    async def follow(
        self,
        caller: Principal,
        ref: str,
        agent_id: str,
        *,
        query: Query = (),
    ) -> AsyncIterator[Channel]:
        """Yield the cards' WebSocket. Of the client's `query` only the parameters in `FOLLOW_WORDS`
        count."""
        _, client = await self._terminals.runtime_for(caller, ref, agent_id)
        async with client.attach(f"/sessions/{_id(agent_id)}/cards", query) as channel:
            yield channel

    async def _client_for_control(
        self, caller: Principal, ref: str, agent_id: str
    ) -> tuple[RuntimeClient, Query]:
        """Return the runtime's client and the caller's credentials. Raises `Forbidden` for a
        viewer."""
        if caller.guest_access is not None and caller.guest_access.role is Role.VIEWER:
            raise Forbidden("Your link lets you watch this agent, not control it.")
        return await self._terminals.control(caller, ref, agent_id)


async def _open_agent(
    client: RuntimeClient, order: agents.OpenAgentBody, caller: Principal
) -> agents.AgentRecord:
    try:
        return await client.call(agents.open_agent(order, principal=caller.id))
    except Invalid as error:
        if error.field != "must_know":
            raise
    # A runtime of an earlier version, which refuses what it does not know.
    earlier = msgspec.structs.replace(order, must_know=False)
    return await client.call(agents.open_agent(earlier, principal=caller.id))


def _owners() -> Forbidden:
    return Forbidden("Only the owner changes an agent's model or what it may do.")


def _card_id(card: str) -> str:
    if not _CARD.match(card):
        raise NotFound("There is no such card here; list them to see which there are.")
    return card


def _id(agent_id: str) -> PathId:
    return checked_id(agent_id, noun="agent")
