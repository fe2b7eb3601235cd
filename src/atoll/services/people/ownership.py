"""Ownership of sandboxes: giving one to another member, with its history, and what ends with it.

What is the former owner's own does not go along: links, tokens of the sandbox and open requests
end, and secrets of the sandbox's scope are removed. Its files go along as they are. A sandbox that
is destroyed takes all of these with it, and the pulls that wait for it; one that expired or failed
keeps them, since it can be started again.
"""

from dataclasses import replace

from atoll.domain.approvals.approval import overtaken
from atoll.domain.errors import Conflict
from atoll.domain.event import sandbox_stream
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.capability import Capability
from atoll.domain.people.organization import Member, check_may_set, member_principal
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.pull_order import cancel
from atoll.domain.sandboxes.sandbox import GONE, Sandbox
from atoll.ports import Transaction
from atoll.services.approvals.settlement import settle_requests
from atoll.services.approvals.voiding import approval_event
from atoll.services.ground import Ground
from atoll.services.lifecycle.room import SandboxRoom
from atoll.services.people.memberships import organization_for
from atoll.services.people.rosters import check_team, one_member
from atoll.services.people.shares import revoke_links
from atoll.services.people.tokens import revoke_bound
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets import drop_within
from atoll.wire.words.library import OrderState
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import State


class Ownership:
    """Use cases on the owners of sandboxes."""

    def __init__(
        self,
        ground: Ground,
        room: SandboxRoom,
        sandboxes: Sandboxes,
        *,
        policy_push: PolicyPush,
    ) -> None:
        self._ground = ground
        self._room = room
        self._sandboxes = sandboxes
        self._policy_push = policy_push

    async def give(self, caller: Principal, ref: str, member: str) -> Sandbox:
        """Give a sandbox to another member (id, name or email); one that runs is stopped first.
        Raises `Forbidden` for who is neither its owner nor an administrator, `NotFound`, and
        `Conflict` for a viewer, and for a member who has a sandbox of its name, `LimitReached` when
        it does not fit into the member's quota."""
        sandbox = await self._sandboxes.get(caller, ref)
        to = await self._member(caller, member)
        if not member_principal(to).may(Capability.SANDBOX_MANAGE):
            raise Conflict(
                f"{to.name} is a viewer and could do nothing with it: give them another role, or "
                "share it.",
                code="viewer",
            )

        async def along(rows: Transaction, before: Sandbox) -> None:
            await self._room.take(rows, replace(before, owner=to.id))
            await self._end_former_rights(rows, before, actor=caller)
            await rows.events.give(sandbox_stream(before.id), before.owner, to.id)

        given = await self._sandboxes.give(caller, sandbox.id, to.id, also=along)
        await self._policy_push.push_changes(given.org_id, None)
        return given

    async def waiting(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[Sandbox]:
        """Return a page of the sandboxes of an organization whose owner is gone, oldest first, to
        its administrators."""
        async with self._ground.store.read() as rows:
            organization, own = await organization_for(rows, caller, ref)
            check_may_set(own, OrgRole.MEMBER)
            check_team(organization)
            return await rows.sandboxes.ownerless(organization.id, page)

    async def _member(self, caller: Principal, ref: str) -> Member:
        async with self._ground.store.read() as rows:
            organization, _ = await organization_for(rows, caller, caller.org_id)
            check_team(organization)
            return one_member(await rows.members.of(organization.id), ref)

    async def _end_former_rights(
        self, rows: Transaction, sandbox: Sandbox, *, actor: Principal
    ) -> None:
        """Revoke the former owner's links and tokens, and overtake their open approvals."""
        owner = sandbox.owner
        await revoke_links(rows, self._ground, sandbox.id, actor=actor)
        await revoke_bound(rows, self._ground, sandbox, actor=actor)
        await drop_within(rows, self._ground, sandbox, actor=actor)
        now = self._ground.clock.now()
        for approval in await rows.approvals.open(
            sandbox.org_id, sandbox_id=sandbox.id, owner=owner
        ):
            if approval.requester.sandbox_id == sandbox.id and approval.owner == owner:
                after = overtaken(approval, reason="Its sandbox has another owner.", now=now)
                await rows.approvals.put(after)
                await rows.events.append((approval_event(self._ground, after, actor=actor),))


async def settle_remnants(
    ground: Ground, rows: Transaction, before: Sandbox, after: Sandbox, actor: Principal
) -> None:
    """End what a transition of a sandbox leaves without a subject, in the caller's transaction."""
    await settle_requests(ground, rows, before, after)
    if after.state in GONE and before.state not in GONE:
        await revoke_links(rows, ground, after.id, actor=actor)
        await revoke_bound(rows, ground, after, actor=actor)
        await _cancel_pulls(rows, after)
        await _conceal_logins(rows, after)
    if after.state is State.DESTROYED and before.state is not State.DESTROYED:
        # Not before: a key of the sandbox may pay for its machine to be removed.
        await drop_within(rows, ground, after, actor=actor)


async def _cancel_pulls(rows: Transaction, sandbox: Sandbox) -> None:
    """Cancel the pulls that wait for what is in a sandbox; what was pushed is outside."""
    for order in await rows.pulls.of(sandbox.org_id, sandbox.owner):
        waits = order.sandbox_id == sandbox.id and order.state is OrderState.WAITING
        if waits and not order.draft.pushed:
            await rows.pulls.put(cancel(order))


async def _conceal_logins(rows: Transaction, sandbox: Sandbox) -> None:
    """Take a sandbox out of the places to which logins of its owner are exposed."""
    scope = f"sandbox:{sandbox.id}"
    for login in await rows.agent_logins.of(sandbox.org_id, sandbox.owner):
        if scope in login.exposed_to:
            left = tuple(other for other in login.exposed_to if other != scope)
            await rows.agent_logins.put(replace(login, exposed_to=left))
