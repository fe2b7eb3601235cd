"""Leases of money: the parts of a budget that the doors of single sandboxes may spend.

A door spends what it was leased and no more, also while no control plane is there. What is leased
and not yet reported as spent counts as spent, so many doors never spend one budget many times.
Where a budget is lowered, the leases of doors that can be reached are shortened. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NewType

from atoll.domain.budgets.budget import Budget, BudgetId, BudgetStanding, period_begin
from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.meters import BudgetScope
from atoll.wire.words.sandboxes import State

LeaseId = NewType("LeaseId", str)

LEAST_LEASE: Final = 50_000
"""The micros that a lease has where as much is left: some answers of a usual model."""

SHARE: Final = 4
"""The part of what is left that one lease takes of a budget that others share: a quarter."""


@dataclass(frozen=True, slots=True)
class BudgetLease:
    """A lease of one generation of a sandbox, for the period that began at `since`. `final`
    is set once its door knows that nothing is left."""

    id: LeaseId
    budget_id: BudgetId
    org_id: OrgId
    sandbox_id: SandboxId
    generation: int
    since: datetime | None
    granted: int = 0
    spent: int = 0
    final: bool = False

    @property
    def outstanding(self) -> int:
        """The micros that may be spent or are not yet reported."""
        return max(0, self.granted - self.spent)


def open_lease(budget: Budget, sandbox: Sandbox, now: datetime) -> BudgetLease:
    """Return the lease that a sandbox has of a budget in this period, with nothing granted."""
    since = period_begin(budget.terms.period, now)
    named = "total" if since is None else f"{since:%Y-%m-%d}"
    return BudgetLease(
        LeaseId(f"{budget.id}:{named}:{sandbox.id}:{sandbox.generation}"),
        budget.id,
        budget.org_id,
        sandbox.id,
        sandbox.generation,
        since,
    )


def leasable(
    standing: BudgetStanding, leases: Iterable[BudgetLease], since: datetime | None
) -> int:
    """Return the micros of a budget that are neither spent nor leased in the period since. It is
    negative where a budget was lowered, or an answer cost more than its lease."""
    leased = sum(lease.outstanding for lease in leases if lease.since == since)
    return standing.budget.terms.amount_micros - standing.spent_micros - leased


def renew(lease: BudgetLease, budget: Budget, left: int) -> BudgetLease:
    """Return a lease with more of what is left, or with less where too much is leased. A budget of
    one sandbox is leased whole."""
    outstanding = max(0, lease.outstanding + left)
    if left >= 0:
        outstanding = max(lease.outstanding, _target(lease, budget, left))
    return replace(lease, granted=lease.spent + outstanding, final=outstanding == 0)


def is_due(lease: BudgetLease, budget: Budget, left: int) -> bool:
    """Report whether a door has to be sent its lease again: half of it is spent and there is more,
    too much is leased, or nothing is left and it does not know."""
    if left > 0:
        return lease.outstanding * 2 < _target(lease, budget, left)
    if lease.outstanding:
        return left < 0
    return not lease.final


def is_settled(lease: BudgetLease, sandbox: Sandbox | None) -> bool:
    """Report whether nothing more can come of a lease: its sandbox is destroyed or stopped, or in a
    later generation. Of one that failed the journal may still be collected."""
    if sandbox is None or sandbox.generation != lease.generation:
        return True
    return sandbox.state in (State.STOPPED, State.DESTROYED)


def settle(lease: BudgetLease) -> BudgetLease:
    """Return a lease of which nothing is outstanding: what was not spent is left of the budget."""
    return replace(lease, granted=min(lease.granted, lease.spent))


def _target(lease: BudgetLease, budget: Budget, left: int) -> int:
    """Return the micros that are to be outstanding."""
    whole = lease.outstanding + left
    if budget.subject.scope is BudgetScope.SANDBOX:
        return whole
    return min(whole, max(LEAST_LEASE, whole // SHARE))
