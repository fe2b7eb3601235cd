"""Tables and rows of budgets, and of the spending that counts against them."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, storable, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.budgets.budget import Budget, BudgetId
from atoll.domain.budgets.lease import BudgetLease, LeaseId
from atoll.domain.budgets.spender import Spender, SpendingFilter
from atoll.domain.ids import OrgId, SandboxId
from atoll.ports.store.people.budgets import BudgetRows, LeaseRows, SpendingRows

budgets = Table(
    "budgets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("period", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("org_id", "scope", "subject", "period"),
)

budget_leases = Table(
    "budget_leases",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("budget_id", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("outstanding", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Index("budget_leases_by_budget", "budget_id"),
    Index("budget_leases_by_sandbox", "sandbox_id"),
    Index("budget_leases_outstanding", "outstanding"),
)

_NAMES = ("sandbox_id", "owner", "agent", "consumer")

spending = Table(
    "spending",
    metadata,
    Column("org_id", Text, nullable=False),
    *(Column(name, Text, nullable=False) for name in _NAMES),
    Column("day_us", BigInteger, nullable=False),
    Column("micros", BigInteger, nullable=False),
    PrimaryKeyConstraint("sandbox_id", "day_us", "owner", "agent", "consumer"),
    Index("spending_by_organization", "org_id", "day_us"),
    Index("spending_by_owner", "org_id", "owner", "day_us"),
)


class SqlBudgetRows(SqlRecords[Budget, BudgetId], BudgetRows):
    """The `ports.store.people.budgets.BudgetRows` on one connection."""

    records = RecordTable(
        budgets,
        Budget,
        lambda budget: {
            "id": budget.id,
            "org_id": budget.org_id,
            "scope": budget.subject.scope.value,
            "subject": budget.subject.name,
            "period": budget.terms.period.value,
        },
        order=(budgets.c.scope, budgets.c.subject, budgets.c.period),
    )

    async def of_organization(self, org_id: OrgId) -> list[Budget]:
        """See the port."""
        return await self._all(budgets.c.org_id == org_id)

    async def everything(self) -> list[Budget]:
        """See the port."""
        return await self._all()


class SqlLeaseRows(SqlRecords[BudgetLease, LeaseId], LeaseRows):
    """The `ports.store.people.budgets.LeaseRows` on one connection."""

    records = RecordTable(
        budget_leases,
        BudgetLease,
        lambda lease: {
            "id": lease.id,
            "org_id": lease.org_id,
            "budget_id": lease.budget_id,
            "sandbox_id": lease.sandbox_id,
            "outstanding": int(lease.outstanding > 0),
        },
        order=(budget_leases.c.id,),
    )

    async def of_budget(self, budget_id: BudgetId) -> list[BudgetLease]:
        """See the port."""
        return await self._all(budget_leases.c.budget_id == budget_id)

    async def of_sandbox(self, sandbox_id: SandboxId) -> list[BudgetLease]:
        """See the port."""
        return await self._all(budget_leases.c.sandbox_id == sandbox_id)

    async def outstanding(self) -> list[BudgetLease]:
        """See the port."""
        return await self._all(budget_leases.c.outstanding == 1)

    async def drop(self, budget_id: BudgetId) -> None:
        """See the port."""
        await self._delete(budget_leases.c.budget_id == budget_id)


class SqlSpendingRows(SpendingRows):
    """The `ports.store.people.budgets.SpendingRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, spender: Spender, day: datetime, micros: int) -> None:
        """See the port."""
        key = {
            "org_id": spender.org_id,
            "sandbox_id": spender.sandbox_id,
            "owner": spender.owner,
            "agent": storable(spender.agent),
            "consumer": storable(spender.consumer),
            "day_us": to_us(day),
        }
        own = [spending.c[name] == value for name, value in key.items()]
        more = {"micros": spending.c.micros + micros}
        changed = await self._connection.execute(update(spending).where(*own).values(more))
        if changed.rowcount == 0:
            await self._connection.execute(insert(spending), {**key, "micros": micros})

    async def sum(self, wanted: SpendingFilter) -> int:
        """See the port."""
        query = select(func.coalesce(func.sum(spending.c.micros), 0)).where(*_conditions(wanted))
        # The sums of PostgreSQL are Decimals.
        return int((await self._connection.execute(query)).scalar_one())


def _conditions(wanted: SpendingFilter) -> list[ColumnElement[bool]]:
    table = spending.c
    equal: tuple[tuple[ColumnElement[Any], object], ...] = (
        (table.owner, wanted.owner),
        (table.agent, wanted.agent),
        (table.sandbox_id, wanted.sandbox_id),
    )
    conditions = [table.org_id == wanted.org_id]
    conditions += [column == value for column, value in equal if value is not None]
    if wanted.consumer is not None:
        within = f"{wanted.consumer}/"
        begins = func.substr(table.consumer, 1, len(within)) == within
        conditions.append(or_(table.consumer == wanted.consumer, begins))
    if wanted.since is not None:
        conditions.append(table.day_us >= to_us(wanted.since))
    return conditions
