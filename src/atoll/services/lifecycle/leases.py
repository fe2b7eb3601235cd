"""Leases of budgets: granted with a policy, counted as their spending is reported, and settled.

`services.policies.leases` looks which doors need more.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from atoll.domain.budgets.budget import (
    Budget,
    BudgetStanding,
    binds,
    counted_by,
    period_end,
    refusal,
)
from atoll.domain.budgets.lease import BudgetLease, is_settled, leasable, open_lease, renew, settle
from atoll.domain.budgets.spender import spender_of
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.wire.contract.policy import MoneyLease
from atoll.wire.words.meters import AtLimit

SETTLED_AFTER = timedelta(minutes=5)
"""The time after its end in which the journal of a sandbox was collected to its end."""


async def read_standing(rows: Transaction, budget: Budget, now: datetime) -> BudgetStanding:
    """Return a budget with what is spent of it."""
    spent = await rows.spending.sum(counted_by(budget, now))
    return BudgetStanding(budget, spent, period_end(budget.terms.period, now))


async def grant_leases(ground: Ground, sandbox: Sandbox) -> tuple[MoneyLease, ...]:
    """Return the leases of a sandbox, with more of what is left. Without a budget that binds it
    nothing is written. Raises `Unavailable`."""
    async with ground.store.read() as rows:
        if not await _list_binding(rows, sandbox):
            return ()
    async with ground.store.begin() as rows:
        return tuple(
            [
                await _grant(rows, budget, sandbox, ground.clock.now())
                for budget in await _list_binding(rows, sandbox)
            ]
        )


async def _list_binding(rows: Transaction, sandbox: Sandbox) -> list[Budget]:
    """Return the budgets that bind a sandbox and refuse at their limit."""
    spender = spender_of(sandbox)
    budgets = await rows.budgets.of_organization(sandbox.org_id)
    return [each for each in budgets if refuses(each) and binds(each, spender)]


async def _grant(rows: Transaction, budget: Budget, sandbox: Sandbox, now: datetime) -> MoneyLease:
    lease, standing, left = await _read_lease(rows, budget, sandbox, now)
    lease = renew(lease, budget, left)
    await rows.budget_leases.put(lease)
    reason = refusal(standing) if lease.final else _wait_for_more(budget)
    return MoneyLease(lease_id=lease.id, micros=lease.granted, refusal=reason)


async def _read_lease(
    rows: Transaction, budget: Budget, sandbox: Sandbox, now: datetime
) -> tuple[BudgetLease, BudgetStanding, int]:
    """Return the lease of a sandbox, its budget as it stands, and what of that is not leased."""
    fresh = open_lease(budget, sandbox, now)
    lease = await rows.budget_leases.get(fresh.id) or fresh
    standing = await read_standing(rows, budget, now)
    leases = await rows.budget_leases.of_budget(budget.id)
    return lease, standing, leasable(standing, leases, fresh.since)


def _wait_for_more(budget: Budget) -> str:
    subject = budget.subject
    return (
        f"this sandbox has spent its part of the budget {budget.id} of the {subject.scope} "
        f"{subject.name}; the next part comes within two minutes, where some is left"
    )


def refuses(budget: Budget) -> bool:
    return budget.terms.at_limit is AtLimit.REFUSE


async def count_leased(
    rows: Transaction, life: tuple[SandboxId, int], day: datetime, *, micros: int
) -> None:
    """Count what a generation of a sandbox spent on a day in its leases."""
    sandbox_id, generation = life
    for lease in await rows.budget_leases.of_sandbox(sandbox_id):
        if lease.generation == generation and (lease.since is None or day >= lease.since):
            await rows.budget_leases.put(replace(lease, spent=lease.spent + micros))


async def settle_leases(rows: Transaction, now: datetime) -> None:
    """Return what ended sandboxes did not spend to their budgets, once it was reported."""
    for lease in await rows.budget_leases.outstanding():
        sandbox = await rows.sandboxes.get(lease.sandbox_id)
        late = sandbox is None or sandbox.updated_at <= now - SETTLED_AFTER
        if late and is_settled(lease, sandbox):
            await rows.budget_leases.put(settle(lease))
