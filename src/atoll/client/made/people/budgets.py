"""Budgets: the most that models may cost an organization, a person, an agent or a sandbox.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Transport, api_path, get, put

BudgetScope = Literal["organization", "person", "agent", "consumer", "sandbox"]

BudgetPeriod = Literal["total", "day", "month"]

AtLimit = Literal["warn", "refuse"]


class Budget(Shape):
    """A budget, and what is spent of it in its current period, which ends at `ends_at`, null for
    all time. `warned` is the highest percent of `warn_at` that is spent, null where none is."""

    budget_id = fields.text()
    scope: Field[BudgetScope] = fields.word()
    subject = fields.text()
    amount_micros = fields.number()
    currency = fields.text()
    period: Field[BudgetPeriod] = fields.word()
    warn_at = fields.numbers()
    at_limit: Field[AtLimit] = fields.word()
    spent_micros = fields.number()
    left_micros = fields.number()
    reached = fields.flag()
    warned = fields.number()
    ends_at = fields.text()
    set_by = fields.text()
    set_at = fields.text()


class BudgetList(Shape):
    """Budgets, by scope, subject and period."""

    budgets = fields.many(Budget)


class BudgetBody(TypedDict, total=False):
    """A budget of one subject: a person by id, name or email, a sandbox by id or name, an agent
    by name, a consumer as `harness` or `harness/id`. Without `subject` it is the caller's own,
    or of the caller's organization. `amount_micros` are whole millionths of the currency."""

    scope: Required[BudgetScope]
    amount_micros: Required[int]
    period: Required[BudgetPeriod]
    subject: str | None
    currency: str
    warn_at: list[int]
    at_limit: AtLimit


class Budgets:
    """Budgets of money. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> BudgetList:
        """Return the caller's budgets and those of its sandboxes; to administrators all of the
        organization."""
        return self._transport.read(BudgetList, get("budgets"))

    def set(self, body: BudgetBody) -> Budget:
        """Set the budget of a subject and period, which is made where there is none. Members set
        their own and those of their sandboxes, administrators all; what an administrator set
        only an administrator changes."""
        return self._transport.read(Budget, put("budgets", value=body))

    def remove(self, budget_id: str) -> None:
        """Remove a budget. What was spent stays counted."""
        self._transport.call(Call("DELETE", api_path("budgets", budget_id)))
