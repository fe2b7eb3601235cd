"""Departures: the things that go with a member, and those that stay for the organization.

Secrets, logins, tokens, SSH keys, links, webhooks, hooks, desktops, notifications, approvals and
the quota of the member end in the transaction that removes it; its sandboxes are stopped and keep
their files until an administrator gives them to somebody. Its dashboards go to who edits them, or
wait for an administrator. Open connections close by themselves: the surface asks `Memberships`
again and again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from atoll.domain.approvals.approval import overtaken
from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId
from atoll.domain.paging import PageQuery
from atoll.domain.people.organization import Member
from atoll.domain.people.principal import Principal
from atoll.domain.quota import Quota
from atoll.domain.workers.dialled import LeaseState
from atoll.ports import ApprovalQuery, Transaction
from atoll.services.approvals.voiding import approval_event
from atoll.services.ground import Ground
from atoll.services.logins.agent_logins import AgentLogins
from atoll.services.logins.steps import LoginGrant
from atoll.services.people.dashboard_owners import leave
from atoll.services.people.shares import end_link
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets import Secrets
from atoll.services.webhooks.log import WEBHOOKS
from atoll.services.webhooks.webhooks import remove_all
from atoll.wire.words.approvals import ApprovalState
from atoll.wire.words.sandboxes import SnapshotState

_MAX_APPROVALS = 10_000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Departure:
    """A member who is gone. `counts` are in the event; `grants` are those of its agents' logins,
    which end at their issuers."""

    member: Member
    counts: Mapping[str, int]
    grants: Sequence[LoginGrant] = ()


class Departures:
    """The end of a membership."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        secrets: Secrets,
        *,
        policy_push: PolicyPush,
        logins: AgentLogins,
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._policy_push = policy_push
        self._secrets = secrets
        self._logins = logins

    async def forget(self, rows: Transaction, member: Member, *, actor: Principal) -> Departure:
        """Remove what lives in the member's name, in the caller's transaction. `settle` does the
        rest after it."""
        held = [sandbox.id for sandbox in await rows.sandboxes.held(member.org_id, member.id)]
        for share in await rows.shares.held(member.org_id, member.id):
            await end_link(rows, self._ground, share, actor)
        for browser in await rows.push.of(member.org_id, member.id):
            await rows.push.remove(browser.id)
        await remove_all(rows, self._ground, (member.org_id, member.id), actor=actor)
        await rows.shades.put(member.org_id, member.id, None)
        for token in await rows.tokens.of(member.org_id, member.id):
            await rows.tokens.remove(token.id)
        grants = await self._logins.drop_all(rows, member.org_id, member.id)
        await _remove_own(rows, member)
        boards = await leave(rows, self._ground, member, actor=actor)
        secrets = await self._secrets.drop_all(rows, member.org_id, member.id, actor=actor)
        await self._end_approvals(rows, member, actor)
        counts = {"sandboxes": len(held), "dashboards": boards, "secrets": secrets}
        return Departure(member, counts, grants)

    async def settle(self, departure: Departure) -> None:
        """Stop the sandboxes of a member who is gone, take its secrets out of those that ran with
        them, and end its agents' logins at their issuers. What cannot be stopped now is logged; its
        time to live ends it."""
        member = departure.member
        self._logins.end_grants(departure.grants)
        self._ground.bus.announce((WEBHOOKS,))
        await self._policy_push.push_changes(member.org_id, None)
        for sandbox_id in await self._sandbox_ids_of(member):
            try:
                await self._sandboxes.halt(sandbox_id)
            except AtollError as error:
                _log.warning("not_stopped", sandbox=sandbox_id, reason=error.message)

    async def _sandbox_ids_of(self, member: Member) -> Sequence[SandboxId]:
        async with self._ground.store.read() as rows:
            return [sandbox.id for sandbox in await rows.sandboxes.held(member.org_id, member.id)]

    async def _end_approvals(self, rows: Transaction, member: Member, actor: Principal) -> None:
        """End the requests that the member decides, and all that it granted."""
        now = self._ground.clock.now()
        open_ = (ApprovalState.PENDING, ApprovalState.GRANTED)
        query = ApprovalQuery(member.org_id, None, open_)
        approvals = await rows.approvals.page(query, PageQuery(_MAX_APPROVALS))
        for approval in approvals.rows:
            if member.id in (approval.owner, approval.decided_by):
                after = overtaken(approval, reason="Its person is gone.", now=now)
                await rows.approvals.put(after)
                await rows.events.append((approval_event(self._ground, after, actor=actor),))


async def _remove_own(rows: Transaction, member: Member) -> None:
    """Remove what only the member could use: keys, hooks, desktops, snapshots, and its quota."""
    for key in await rows.ssh_keys.of(member.org_id, member.id):
        await rows.ssh_keys.remove(key.id)
    for hook in await rows.hooks.of(member.org_id, member.id):
        await rows.hooks.remove(hook.id)
    for desktop in await rows.desktops.of(member.org_id, member.id):
        for lease in await rows.host_leases.of_desktop(desktop.id):
            await rows.host_leases.put(replace(lease, state=LeaseState.ENDED))
            await rows.host_offers.clear(lease.key)
        await rows.desktops.remove(desktop.id)
    for snapshot in await rows.snapshots.of(member.org_id, member.id):
        # The leader drops what its backend keeps.
        await rows.snapshots.put(replace(snapshot, state=SnapshotState.REMOVING))
    await rows.quotas.put(member.org_id, member.id, Quota())
