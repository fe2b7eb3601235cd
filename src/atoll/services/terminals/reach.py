"""The way to a terminal: who may watch or use it, and the client of its runtime.

A member reaches what it sees. A guest reaches what its link opens. Who sees a dashboard watches the
terminals whose panes are on it, and nothing else of their sandboxes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from atoll.domain.errors import AtollError, Conflict, NotFound
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.wire.contract.call import Query
from atoll.wire.words.events import ActorKind
from atoll.wire.words.terminals import Role

GUEST_WORDS = "This sandbox does not run now. Ask whoever invited you."
OTHER_LINK = "There is no such terminal here; your link opens another one."

LOOK_SECONDS = 2.0
"""The interval at which it is checked that who is attached still may be."""

GUEST_LOOK_SECONDS = 0.5
"""The same for a guest of a dashboard, who may have been given control."""

_RANKS = (Role.VIEWER, Role.CONTROLLER, Role.OWNER)

Panes: TypeAlias = Callable[[Principal, str, str], Awaitable[Principal | None]]
"""Returns the owner of a sandbox, by its id, when a dashboard that the caller sees has a pane of
this terminal of it; else None."""


async def no_panes(caller: Principal, ref: str, terminal_id: str) -> None:
    """Return None: there are no dashboards."""
    del caller, ref, terminal_id


@dataclass(frozen=True, slots=True)
class Reach:
    """A terminal's sandbox, the client of its runtime, and the caller's role there. `by_pane`: the
    caller reaches it because a dashboard shows it, and may watch."""

    sandbox: Sandbox
    client: RuntimeClient
    role: Role
    by_pane: bool = False

    @property
    def rank(self) -> int:
        """Return how much the caller may do there, more for more."""
        return _RANKS.index(self.role)


class TerminalReach:
    """The check before everything that is done with a terminal."""

    def __init__(self, access: RuntimeAccess, panes: Panes) -> None:
        self._access = access
        self._panes = panes

    async def to(
        self,
        caller: Principal,
        ref: str,
        terminal_id: str | None = None,
        *,
        wakes: bool = False,
    ) -> Reach:
        """Return the way to a sandbox's terminal, or to all that the caller may list. With `wakes`
        a member who may use it wakes one that sleeps. Raises `NotFound`, and what
        `RuntimeAccess.runtime` raises."""
        access = caller.guest_access
        if access is None:
            return await self._of_member(caller, ref, terminal_id, wakes=wakes)
        if access.dashboard_id is not None:
            return await self._by_pane(caller, ref, terminal_id, NotFound(OTHER_LINK))
        if not access.covers(ref, terminal_id):
            raise NotFound(OTHER_LINK)
        host = Principal(access.org_id, access.owner, ActorKind.PERSON)
        return Reach(*await self._of_host(host, ref), access.role)

    async def until_lost(self, caller: Principal, ref: str, terminal_id: str) -> bool:
        """See `Terminals.until_lost`."""
        access, first = caller.guest_access, None
        while access is None or access.dashboard_id is not None:
            try:
                now = await self.to(caller, ref, terminal_id)
            except Conflict:
                pass  # it does not run: its runtime ends what is open
            except AtollError:
                if first is not None:
                    return False
                # Who attaches is told why, and may succeed a moment later.
            else:
                first = first or now
                if now.rank < first.rank:
                    return True
                if now.role is Role.OWNER:
                    break
            await asyncio.sleep(LOOK_SECONDS if access is None else GUEST_LOOK_SECONDS)
        never: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        return await never

    async def _of_member(
        self, caller: Principal, ref: str, terminal_id: str | None, *, wakes: bool
    ) -> Reach:
        wakes = wakes and caller.may(Capability.TERMINAL_USE)
        try:
            sandbox, client = await self._access.runtime(caller, ref, wakes=wakes)
        except NotFound as error:
            return await self._by_pane(caller, ref, terminal_id, error)
        return Reach(sandbox, client, role_at(caller, sandbox))

    async def _by_pane(
        self, caller: Principal, ref: str, terminal_id: str | None, otherwise: AtollError
    ) -> Reach:
        host = None if terminal_id is None else await self._panes(caller, ref, terminal_id)
        if host is None:
            raise otherwise
        access = caller.guest_access
        types = access is not None and access.edits and access.terminals
        role = Role.CONTROLLER if types else Role.VIEWER
        return Reach(*await self._of_host(host, ref), role, by_pane=True)

    async def _of_host(self, host: Principal, ref: str) -> tuple[Sandbox, RuntimeClient]:
        try:
            return await self._access.runtime(host, ref)
        except Conflict as err:
            # What helps is a command of its owner's.
            raise Conflict(GUEST_WORDS, code=err.code) from err


def credentials(caller: Principal, role: Role) -> Query:
    """Return the caller's identity and role as query parameters that the runtime trusts."""
    access = caller.guest_access
    who: Query = (
        ("principal", caller.id),
        ("name", caller.name or caller.id),
        ("role", role.value),
    )
    if access is None:
        return who
    if access.dashboard_id is not None:
        # A terminal that nobody drives would otherwise be theirs at a key.
        who = (*who, ("given", "true"))
    return (*who, ("expires", str(int(access.expires_at.timestamp()))))


def role_at(caller: Principal, sandbox: Sandbox) -> Role:
    """Return the role of a member at the terminals of a sandbox that it may see."""
    if not caller.may(Capability.TERMINAL_USE):
        return Role.VIEWER
    own = (sandbox.org_id, sandbox.owner) == (caller.org_id, caller.id)
    return Role.OWNER if own else Role.CONTROLLER
