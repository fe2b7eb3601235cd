"""Rows of budgets, and of the spending that counts against them."""

from datetime import datetime
from typing import Protocol

from atoll.domain.budgets.budget import Budget, BudgetId
from atoll.domain.budgets.spender import Spender, SpendingFilter
from atoll.domain.ids import OrgId
from atoll.ports.store.records import Records


class BudgetRows(Records[Budget, BudgetId], Protocol):
    """Budgets by id."""

    async def of_organization(self, org_id: OrgId) -> list[Budget]:
        """Return the budgets of an organization, by scope, subject and period."""
        ...


class SpendingRows(Protocol):
    """The micros that were spent, by spender and day (UTC)."""

    async def add(self, spender: Spender, day: datetime, micros: int) -> None:
        """Add to what was spent in the day that begins at `day`."""
        ...

    async def sum(self, wanted: SpendingFilter) -> int:
        """Return the sum of the wanted spending."""
        ...
