"""The leader's care for leases of money: which doors need more of a budget.

A policy is composed with what each budget that refuses at its limit leases to its sandbox
(`services.lifecycle.leases`). Policies are sent anew as leases are spent.
"""

from datetime import timedelta
from functools import partial

from atoll.domain.budgets.budget import Budget, binds
from atoll.domain.budgets.lease import is_due, leasable, open_lease
from atoll.domain.budgets.spender import spender_of
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.leases import read_standing, refuses
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.repetition import pause, repeat

PAUSE = timedelta(seconds=10)


class Leases:
    """The leader's care for leases."""

    def __init__(self, ground: Ground, policy_push: PolicyPush) -> None:
        self._ground = ground
        self._policy_push = policy_push

    async def run(self) -> None:
        """Look every ten seconds; never returns."""
        rest = partial(pause, self._ground.clock, PAUSE)
        await repeat(self.look, rest, failed="leases_not_renewed", broke="leases_broke")

    async def look(self) -> set[SandboxId]:
        """Have the policies of the sandboxes sent whose leases are due, and return these. Raises
        `Unavailable`."""
        async with self._ground.store.read() as rows:
            budgets = [each for each in await rows.budgets.everything() if refuses(each)]
            due: set[SandboxId] = set()
            for org_id in {budget.org_id for budget in budgets}:
                unfinished = await rows.sandboxes.unfinished(org_id, None)
                running = [each for each in unfinished if each.state in RUNNING]
                for budget in budgets:
                    if budget.org_id == org_id:
                        due |= await self._list_due(rows, budget, running)
        self._policy_push.renew(due)
        return due

    async def _list_due(
        self, rows: Transaction, budget: Budget, running: list[Sandbox]
    ) -> set[SandboxId]:
        now = self._ground.clock.now()
        standing = await read_standing(rows, budget, now)
        leases = {lease.id: lease for lease in await rows.budget_leases.of_budget(budget.id)}
        due = set()
        for sandbox in running:
            fresh = open_lease(budget, sandbox, now)
            left = leasable(standing, leases.values(), fresh.since)
            bound = binds(budget, spender_of(sandbox))
            if bound and is_due(leases.get(fresh.id, fresh), budget, left):
                due.add(sandbox.id)
        return due
