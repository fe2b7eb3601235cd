"""Routes of budgets."""

from atoll.domain.budgets.budget import BudgetStanding, BudgetTerms
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import budgets as api
from atoll.wire.api.people.budgets import Budgets

operations = Operations()


@operations.serves(Budgets.list)
async def list_budgets(context: RequestContext) -> api.BudgetList:
    standings = await context.atoll.tenancy.budgets.list(context.caller)
    return api.BudgetList(budgets=[_view(each) for each in standings])


@operations.serves(Budgets.set)
async def set_budget(context: RequestContext, body: api.BudgetBody) -> api.BudgetView:
    terms = BudgetTerms(
        body.amount_micros, body.period, tuple(body.warn_at), body.at_limit, body.currency
    )
    budgets = context.atoll.tenancy.budgets
    return _view(await budgets.set(context.caller, body.scope, body.subject, terms=terms))


@operations.serves(Budgets.remove)
async def remove_budget(context: RequestContext, budget: str) -> None:
    await context.atoll.tenancy.budgets.remove(context.caller, budget)


def _view(standing: BudgetStanding) -> api.BudgetView:
    budget, terms = standing.budget, standing.budget.terms
    return answer_of(
        api.BudgetView,
        standing,
        budget_id=budget.id,
        scope=budget.subject.scope,
        subject=budget.subject.name,
        amount_micros=terms.amount_micros,
        currency=terms.currency,
        period=terms.period,
        warn_at=[*terms.warn_at],
        at_limit=terms.at_limit,
        set_by=budget.set_by,
        set_at=instant(budget.set_at),
    )
