"""`atoll budget`: the most that models may cost, and what is spent of it."""

from decimal import Decimal, InvalidOperation

import click

from atoll.client.made.people.budgets import Budget, BudgetBody, Budgets
from atoll.domain.budgets.budget import spelled_money
from atoll.domain.errors import Invalid
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs
from atoll.wire.words.meters import AtLimit, BudgetPeriod, BudgetScope


@click.group("budget", cls=Verbs)
def command() -> None:
    """Bound what models may cost, and show what is spent."""


@needs("me.manage")
@command.command("set")
@click.argument("amount")
@click.option(
    "--for",
    "whose",
    metavar="SCOPE[:NAME]",
    default="person",
    help="person:ada, organization, agent:codex, consumer:ci/run-1, sandbox:box; you.",
)
@click.option(
    "--period",
    type=click.Choice([each.value for each in BudgetPeriod]),
    default=BudgetPeriod.MONTH.value,
    help="In UTC.",
)
@click.option(
    "--warn-at", type=click.IntRange(1, 100), multiple=True, help="A percent; repeatable."
)
@click.option(
    "--at-limit",
    type=click.Choice([each.value for each in AtLimit]),
    default=AtLimit.REFUSE.value,
    help="refuse, or warn.",
)
@json_option()
@pass_invocation
def set_(
    invocation: Invocation,
    *,
    amount: str,
    whose: str,
    period: str,
    warn_at: tuple[int, ...],
    at_limit: str,
    as_json: bool,
) -> None:
    """Set a budget of AMOUNT dollars, such as 20 or 2.50."""
    scope, _, name = whose.partition(":")
    if scope not in [*BudgetScope]:
        raise Invalid(f"--for begins with one of {', '.join(BudgetScope)}")
    body: BudgetBody = {
        "scope": BudgetScope(scope).value,
        "amount_micros": _read_amount(amount),
        "period": BudgetPeriod(period).value,
        "warn_at": sorted(set(warn_at)),
        "at_limit": AtLimit(at_limit).value,
    }
    if name:
        body["subject"] = name
    _show([_budgets(invocation).set(body)], as_json=as_json)


@needs("me.manage")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List budgets, and what is spent of them."""
    listing = _budgets(invocation).list()
    if as_json:
        show_json(listing.value)
    elif not listing.budgets:
        say("no budgets: `atoll budget set 20 --period month` makes one")
    else:
        _show(listing.budgets)


@needs("me.manage")
@command.command("rm")
@click.argument("budget")
@pass_invocation
def rm(invocation: Invocation, *, budget: str) -> None:
    """Remove a budget, by its id."""
    _budgets(invocation).remove(budget)
    say(f"{budget}: removed; what was spent stays counted")


def _show(budgets: list[Budget], *, as_json: bool = False) -> None:
    if as_json:
        show_json(budgets[0].value)
        return
    show_table(
        ("BUDGET", "SCOPE", "SUBJECT", "PERIOD", "SPENT", "AMOUNT", "AT LIMIT"),
        [
            (
                *(each.budget_id, each.scope, each.subject, each.period),
                *(spelled_money(each.spent_micros), spelled_money(each.amount_micros)),
                each.at_limit,
            )
            for each in budgets
        ],
    )
    for each in budgets:
        if each.reached:
            note(f"{each.budget_id} is spent")
        elif each.value.get("warned") is not None:
            note(f"{each.warned} % of {each.budget_id} are spent")


def _read_amount(text: str) -> int:
    """Return dollars as whole micros. Raises `Invalid`."""
    try:
        micros = Decimal(text) * 1_000_000
    except InvalidOperation:
        micros = Decimal("NaN")
    if not micros.is_finite() or micros < 0 or micros != int(micros):
        raise Invalid("the amount is dollars with up to six decimals: 20, or 2.50")
    return int(micros)


def _budgets(invocation: Invocation) -> Budgets:
    return Budgets(invocation.api().transport)
