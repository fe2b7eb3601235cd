"""Oversight: every sandbox of an organization, for its administrators.

They see that a sandbox is there, whose it is and what it uses, and may end it. They do not see what
is in it: its files, terminals, task and environment stay its owner's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.domain.errors import NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.overview.usage import DoorCounts
from atoll.domain.people.organization import Organization, check_may_set
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.ports import Store, Transaction
from atoll.ports.store.overview.sandboxes import OverviewQuery, OverviewRow
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.library.unpulled import UnpulledWork
from atoll.services.people.memberships import organization_for
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import State

_UP = (State.REQUESTED, State.PROVISIONING, State.READY, State.ACTIVE)


@dataclass(frozen=True, slots=True)
class Overseen:
    """A sandbox as administrators see it."""

    sandbox: Sandbox
    counts: DoorCounts
    agents: tuple[ReportedAgent, ...]


@dataclass(frozen=True, slots=True)
class OverseenPage:
    """A page of sandboxes; `tally` counts all that fit the query, by state. `total` is how many
    the pages have in all."""

    sandboxes: list[Overseen]
    tally: Mapping[State, int]
    total: int


class Oversight:
    """Use cases of administrators on every sandbox of their organization. Raises `Forbidden` for
    others, and `NotFound` for an organization of others."""

    def __init__(
        self,
        store: Store,
        sandboxes: Sandboxes,
        statuses: AgentStatuses,
        *,
        unpulled: UnpulledWork,
    ) -> None:
        self._store = store
        self._unpulled = unpulled
        self._sandboxes = sandboxes
        self._statuses = statuses

    async def page(self, caller: Principal, ref: str, query: OverviewQuery) -> OverseenPage:
        """Return one page of an organization's sandboxes; the query's own organization is
        ignored."""
        async with self._store.read() as rows:
            organization = await find_administered_org(rows, caller, ref)
            query = replace(query, org_id=organization.id)
            page = await rows.every_sandbox.page(query)
            tally = await rows.every_sandbox.tally(query)
        states = query.states or tuple(state for state in State if state is not State.DESTROYED)
        total = sum(tally.get(state, 0) for state in states)
        return OverseenPage(await self._with_agents(page), tally, total)

    async def stop(
        self, caller: Principal, ref: str, sandbox_id: str, *, wait_seconds: float | None = None
    ) -> Overseen:
        """End a sandbox's processes and keep its files: its owner can start it again. Wait so long
        for the end. Raises `NotFound`, and `Conflict` when its state does not allow it."""
        return await self._end(caller, ref, sandbox_id, destroy=False, wait_seconds=wait_seconds)

    async def destroy(self, caller: Principal, ref: str, sandbox_id: str) -> Overseen:
        """Destroy a sandbox permanently, with what nobody pulled. Raises `NotFound`."""
        return await self._end(caller, ref, sandbox_id, destroy=True)

    async def check_lost(self, caller: Principal, ref: str, sandbox_id: str) -> None:
        """Check that a destroy loses no work, as the sandbox's owner would. Raises `NotFound`, and
        `Conflict` (code `unpulled_work`, `unpulled_unknown`)."""
        sandbox = (await self._find(caller, ref, sandbox_id)).sandbox
        owner = Principal(sandbox.org_id, sandbox.owner, ActorKind.PERSON)
        await self._unpulled.check_lost(owner, sandbox.id)

    async def list_running(self) -> list[Sandbox]:
        """Return the sandboxes of the installation that run or are being made, whoever owns them:
        those of guests are in no organization that anybody administers."""
        async with self._store.read() as rows:
            every = await rows.sandboxes.unfinished()
        return [sandbox for sandbox in every if sandbox.state in _UP and not is_queued(sandbox)]

    async def halt(self, caller: Principal, sandbox_id: str, *, wait_seconds: float) -> Sandbox:
        """Stop any sandbox of the installation; one that is being made once it is ready. Raises
        `NotFound`, and what the stop raises."""
        halted = await self._sandboxes.halt(
            SandboxId(sandbox_id), caller, wait_seconds=wait_seconds
        )
        if halted is None:
            raise NotFound(f"There is no sandbox {sandbox_id[:80]!r}: list them to see.")
        return halted

    async def _end(
        self,
        caller: Principal,
        ref: str,
        sandbox_id: str,
        *,
        destroy: bool,
        wait_seconds: float | None = None,
    ) -> Overseen:
        row = await self._find(caller, ref, sandbox_id)
        ended = await self._sandboxes.end_for(
            caller, row.sandbox, destroy=destroy, wait_seconds=wait_seconds
        )
        return (await self._with_agents([replace(row, sandbox=ended)]))[0]

    async def _find(self, caller: Principal, ref: str, sandbox_id: str) -> OverviewRow:
        async with self._store.read() as rows:
            organization = await find_administered_org(rows, caller, ref)
            row = await rows.every_sandbox.get(organization.id, SandboxId(sandbox_id))
        if row is None:
            raise NotFound(f"There is no sandbox {sandbox_id[:80]!r} in {organization.slug}.")
        return row

    async def _with_agents(self, rows: Sequence[OverviewRow]) -> list[Overseen]:
        agents = await self._statuses.of([row.sandbox for row in rows])
        return [Overseen(row.sandbox, row.counts, agents[row.sandbox.id]) for row in rows]


async def find_administered_org(rows: Transaction, caller: Principal, ref: str) -> Organization:
    """Return an organization that the caller administers. Raises `Forbidden`."""
    organization, own = await organization_for(rows, caller, ref)
    check_may_set(own, OrgRole.MEMBER)
    return organization
