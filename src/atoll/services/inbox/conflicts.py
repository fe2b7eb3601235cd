"""Conflicts: rebases and merges of sandboxes that stopped, and the three ways to go on."""

from dataclasses import dataclass

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.inbox.conflict import ABORT, AGENT, TERMINAL, item_of_conflict
from atoll.domain.inbox.item import InboxItem
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.work.state import TreeConflict
from atoll.services.library.syncs import SyncOrder, Syncs
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.terminals import Terminals
from atoll.services.work.states import SandboxWork, WorkStates
from atoll.wire.contract.terminals import OpenBody
from atoll.wire.words.library import SyncAct
from atoll.wire.words.sandboxes import MAX_SANDBOX_PAGE, WorkState

TERMINAL_NAME = "conflict"
"""The name of a terminal in which a conflict is resolved."""

_SHELL = 'git status; exec "${SHELL:-/bin/sh}"'


@dataclass(frozen=True, slots=True)
class _OpenConflict:
    sandbox: Sandbox
    done: SandboxWork
    conflict: TreeConflict

    def item(self) -> InboxItem:
        """Return the item of this conflict."""
        running = {agent.id for agent in self.sandbox.agents}
        agents = [agent.agent for agent in self.done.agents if agent.id in running]
        since = self.done.work.conflict_at or ""
        agent = agents[0] if agents else None
        return item_of_conflict(self.sandbox, self.conflict, since=since, agent=agent)


class Conflicts:
    """Use cases on conflicts."""

    def __init__(
        self, sandboxes: Sandboxes, states: WorkStates, syncs: Syncs, terminals: Terminals
    ) -> None:
        self._sandboxes = sandboxes
        self._states = states
        self._syncs = syncs
        self._terminals = terminals

    async def items(self, caller: Principal) -> list[InboxItem]:
        """Return an item for each of the caller's sandboxes that stopped at a conflict and in which
        no agent is at work on it."""
        return [stopped.item() for stopped in await self._stopped(caller)]

    async def answer(self, caller: Principal, item: InboxItem, option: str | None) -> None:
        """Hand a conflict to an agent, open a terminal for it, or give the command up. Raises
        `Invalid` for another option, `NotFound` for one that is settled by now, and what these acts
        raise."""
        if option not in {offered.id for offered in item.options}:
            known = ", ".join(offered.id for offered in item.options)
            raise Invalid(f"{item.id} takes one of: {known}", field="option")
        for stopped in await self._stopped(caller):
            if stopped.sandbox.id == item.sandbox_id:
                return await self._act(caller, stopped, option or "")
        raise NotFound(f"{item.id} does not wait any more: list the inbox to see what does.")

    async def _act(self, caller: Principal, stopped: _OpenConflict, option: str) -> None:
        sandbox, number = stopped.sandbox, stopped.conflict.repo
        if option == AGENT:
            order = SyncOrder(number, act=SyncAct.LOOK, hand_over=True)
            await self._syncs.sync(caller, sandbox.id, order)
        elif option == ABORT:
            await self._syncs.sync(caller, sandbox.id, SyncOrder(number, act=SyncAct.ABORT))
        elif option == TERMINAL:
            argv = ["/bin/sh", "-c", _SHELL]
            body = OpenBody(argv=argv, cwd=stopped.conflict.tree.path, name=TERMINAL_NAME)
            await self._terminals.open(caller, sandbox.id, body)

    async def _stopped(self, caller: Principal) -> list[_OpenConflict]:
        page = await self._sandboxes.list(caller, states=tuple(RUNNING), limit=MAX_SANDBOX_PAGE)
        own = [sandbox for sandbox in page.sandboxes if sandbox.owner == caller.id]
        works = await self._states.of(own)
        return [
            _OpenConflict(sandbox, works[sandbox.id], conflict)
            for sandbox in own
            if works[sandbox.id].work.state is WorkState.IN_CONFLICT
            and (conflict := works[sandbox.id].work.conflict) is not None
        ]
