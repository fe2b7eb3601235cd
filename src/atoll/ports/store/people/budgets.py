"""Rows of budgets, and of the spending that counts against them."""

from datetime import datetime
from typing import Protocol

from atoll.domain.budgets.budget import Budget, BudgetId
from atoll.domain.budgets.lease import BudgetLease, LeaseId
from atoll.domain.budgets.spender import Spender, SpendingFilter
from atoll.domain.ids import OrgId, SandboxId
from atoll.ports.store.records import Records


class BudgetRows(Records[Budget, BudgetId], Protocol):
    """Budgets by id."""

    async def of_organization(self, org_id: OrgId) -> list[Budget]:
        """Return the budgets of an organization, by scope, subject and period."""
        ...

    async def everything(self) -> list[Budget]:
        """Return the budgets of all organizations, in the same order."""
        ...


class LeaseRows(Records[BudgetLease, LeaseId], Protocol):
    """Leases of budgets by id."""

    async def of_budget(self, budget_id: BudgetId) -> list[BudgetLease]:
        """Return the leases of a budget."""
        ...

    async def of_sandbox(self, sandbox_id: SandboxId) -> list[BudgetLease]:
        """Return the leases of a sandbox."""
        ...

    async def outstanding(self) -> list[BudgetLease]:
        """Return the leases of which something is outstanding."""
        ...

    async def drop(self, budget_id: BudgetId) -> None:
        """Remove the leases of a budget."""
        ...


class SpendingRows(Protocol):
    """The micros that were spent, by spender and day (UTC)."""

    async def add(self, spender: Spender, day: datetime, micros: int) -> None:
        """Add to what was spent in the day that begins at `day`."""
        ...

    async def sum(self, wanted: SpendingFilter) -> int:
        """Return the sum of the wanted spending."""
        ...
