"""Budgets: the most that models may cost an organization, a person, an agent or a sandbox."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.meters import (
    MAX_BUDGET_MICROS,
    MAX_BUDGETS,
    MAX_SUBJECT,
    MAX_WARNINGS,
    AtLimit,
    BudgetPeriod,
    BudgetScope,
)

Percent = Annotated[int, Meta(ge=1, le=100)]


class BudgetBody(Request):
    """A budget of one subject: a person by id, name or email, a sandbox by id or name, an agent by
    name, a consumer as `harness` or `harness/id`. Without `subject` it is the caller's own, or of
    the caller's organization. `amount_micros` are whole millionths of the currency."""

    scope: BudgetScope
    amount_micros: Annotated[int, Meta(ge=0, le=MAX_BUDGET_MICROS)]
    period: BudgetPeriod
    subject: Annotated[str, Meta(min_length=1, max_length=MAX_SUBJECT)] | None = None
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")] = "USD"
    warn_at: Annotated[list[Percent], Meta(max_length=MAX_WARNINGS)] = []
    at_limit: AtLimit = AtLimit.REFUSE


class BudgetView(Answer):
    """A budget, and what is spent of it in its current period, which ends at `ends_at`, null for
    all time. `warned` is the highest percent of `warn_at` that is spent, null where none is."""

    budget_id: str
    scope: BudgetScope
    subject: str
    amount_micros: int
    currency: str
    period: BudgetPeriod
    warn_at: list[int]
    at_limit: AtLimit
    spent_micros: int
    left_micros: int
    reached: bool
    warned: int | None
    ends_at: str | None
    set_by: str
    set_at: str


class BudgetList(Answer):
    """Budgets, by scope, subject and period."""

    budgets: list[BudgetView]


class Budgets(Area):
    """Budgets of money."""

    tag = "organizations"
    needs = "me.manage"

    @operation("GET /v1/budgets", name="list_budgets", max_items=MAX_BUDGETS)
    def list(self) -> BudgetList:
        """Return the caller's budgets and those of its sandboxes; to administrators all of the
        organization."""

    @operation("PUT /v1/budgets", name="set_budget", problems=(404, 409, 413, 429))
    def set(self, body: BudgetBody) -> BudgetView:
        """Set the budget of a subject and period, which is made where there is none. Members set
        their own and those of their sandboxes, administrators all; what an administrator set only
        an administrator changes."""

    @operation("DELETE /v1/budgets/{budget}", name="remove_budget", status=204, problems=(404,))
    def remove(self, budget: ItemId) -> None:
        """Remove a budget. What was spent stays counted."""
