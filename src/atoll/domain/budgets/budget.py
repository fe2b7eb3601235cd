"""A budget: an amount of money for one subject and time, and what follows when it is spent.

Pure. Amounts are whole micros, millionths of a currency. `spending` says what was spent.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NewType

from atoll.domain.budgets.spender import Spender, SpendingFilter
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.wire.words.events import ActorKind
from atoll.wire.words.meters import MAX_SUBJECT, AtLimit, BudgetPeriod, BudgetScope

BudgetId = NewType("BudgetId", str)

CURRENCY: Final = "USD"
"""The currency of all that models cost."""


@dataclass(frozen=True, slots=True)
class BudgetSubject:
    """The subject of a budget. `name` is an id (person, organization, sandbox), the name of an
    agent, or a consumer: a harness, or all of `harness/id`. Raises `Invalid`."""

    scope: BudgetScope
    name: str

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= MAX_SUBJECT or not self.name.isprintable():
            raise Invalid(
                f"the subject of this budget has 1 to {MAX_SUBJECT} printable characters",
                field="subject",
            )


@dataclass(frozen=True, slots=True)
class BudgetTerms:
    """The amount for each period, the percents of it at which a warning is due, in their order, and
    what follows at the limit. Raises `Invalid`."""

    amount_micros: int
    period: BudgetPeriod
    warn_at: tuple[int, ...]
    at_limit: AtLimit
    currency: str = CURRENCY

    def __post_init__(self) -> None:
        if self.currency != CURRENCY:
            raise Invalid(
                f"budgets are in {CURRENCY}, as the prices of models are", field="currency"
            )
        if [*self.warn_at] != sorted({*self.warn_at}):
            raise Invalid("percents ascend, and each is there once", field="warn_at")


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget. With `by_admin` only administrators change it, also where it binds just one
    person or sandbox."""

    id: BudgetId
    org_id: OrgId
    subject: BudgetSubject
    terms: BudgetTerms
    set_by: PrincipalId
    set_at: datetime
    by_admin: bool

    @property
    def key(self) -> tuple[BudgetSubject, BudgetPeriod]:
        """The subject and period, which tell budgets of an organization apart."""
        return self.subject, self.terms.period


@dataclass(frozen=True, slots=True)
class BudgetStanding:
    """A budget and the micros of its current period that are spent. `ends_at` is the end of that
    period, None for all time."""

    budget: Budget
    spent_micros: int
    ends_at: datetime | None

    @property
    def left_micros(self) -> int:
        """The micros that are left, never negative."""
        return max(0, self.budget.terms.amount_micros - self.spent_micros)

    @property
    def reached(self) -> bool:
        """Return whether all of it is spent."""
        return self.left_micros == 0

    @property
    def warned(self) -> int | None:
        """The highest percent of `warn_at` that is spent; None where none is."""
        return max(self._passed(), default=None)

    def passed_since(self, before: int) -> tuple[int, ...]:
        """Return the percents of `warn_at` that were passed since `before` was spent; those of one
        answer all at once, in their order."""
        former = replace(self, spent_micros=before)
        return tuple(sorted(self._passed() - former._passed()))

    def _passed(self) -> frozenset[int]:
        terms = self.budget.terms
        return frozenset(
            percent
            for percent in terms.warn_at
            if self.spent_micros * 100 >= terms.amount_micros * percent
        )


def binds(budget: Budget, spender: Spender) -> bool:
    """Report whether what a sandbox spends counts against a budget."""
    if budget.org_id != spender.org_id:
        return False
    name = budget.subject.name
    match budget.subject.scope:
        case BudgetScope.ORGANIZATION:
            return True
        case BudgetScope.PERSON:
            return name == spender.owner
        case BudgetScope.AGENT:
            return name == spender.agent
        case BudgetScope.CONSUMER:
            return spender.consumer == name or spender.consumer.startswith(f"{name}/")
        case BudgetScope.SANDBOX:  # pragma: no branch - the cases are all
            return name == spender.sandbox_id


def counted_by(budget: Budget, now: datetime) -> SpendingFilter:
    """Return the spending that counts against a budget in its current period."""
    name = budget.subject.name
    every = SpendingFilter(budget.org_id, since=period_begin(budget.terms.period, now))
    match budget.subject.scope:
        case BudgetScope.ORGANIZATION:
            return every
        case BudgetScope.PERSON:
            return replace(every, owner=PrincipalId(name))
        case BudgetScope.AGENT:
            return replace(every, agent=name)
        case BudgetScope.CONSUMER:
            return replace(every, consumer=name)
        case BudgetScope.SANDBOX:  # pragma: no branch - the cases are all
            return replace(every, sandbox_id=SandboxId(name))


def period_begin(period: BudgetPeriod, now: datetime) -> datetime | None:
    """Return the first moment of the period that a moment in UTC is in; None for all time."""
    match period:
        case BudgetPeriod.TOTAL:
            return None
        case BudgetPeriod.DAY:
            return day_of(now)
        case BudgetPeriod.MONTH:  # pragma: no branch - the cases are all
            return day_of(now).replace(day=1)


def period_end(period: BudgetPeriod, now: datetime) -> datetime | None:
    """Return the first moment of the next period; None for all time."""
    match period:
        case BudgetPeriod.TOTAL:
            return None
        case BudgetPeriod.DAY:
            return day_of(now) + timedelta(days=1)
        case BudgetPeriod.MONTH:  # pragma: no branch - the cases are all
            return (day_of(now).replace(day=1) + timedelta(days=32)).replace(day=1)


def day_of(now: datetime) -> datetime:
    """Return the first moment of a day in UTC."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def stream_of(budget: Budget) -> str:
    """Return the name of the stream of a budget's events: that of its organization."""
    return f"org:{budget.org_id}"


def reader_of(budget: Budget) -> PrincipalId:
    """Return the person whose the events of a budget are: the one it binds, else who set it."""
    if budget.subject.scope is BudgetScope.PERSON:
        return PrincipalId(budget.subject.name)
    return budget.set_by


def tightest(standings: Iterable[BudgetStanding]) -> BudgetStanding | None:
    """Return the standing with the least left that refuses at its limit; None without one."""
    refusing = (each for each in standings if each.budget.terms.at_limit is AtLimit.REFUSE)
    return min(refusing, key=lambda each: (each.left_micros, each.budget.id), default=None)


def check_left(standings: Iterable[BudgetStanding]) -> None:
    """Raise `LimitReached` where a budget that refuses at its limit is spent."""
    standing = tightest(standings)
    if standing is not None and standing.reached:
        raise LimitReached(refusal(standing), code="budget_reached")


def refusal(standing: BudgetStanding) -> str:
    """Return the sentences that name a budget, what was spent of it, until when it holds, and who
    can raise it."""
    budget, terms = standing.budget, standing.budget.terms
    end = standing.ends_at
    until = "" if end is None else f" It begins anew at {end:%Y-%m-%d} 00:00 UTC."
    who = "an administrator" if budget.by_admin else f"{budget.set_by} or an administrator"
    return (
        f"The budget {budget.id} of the {budget.subject.scope} {budget.subject.name} is spent: "
        f"{spelled_money(standing.spent_micros)} of {spelled_money(terms.amount_micros)} "
        f"({terms.period}).{until} To raise it, ask {who}: `atoll budget set`."
    )


def spelled_money(micros: int) -> str:
    """Return an amount in dollars, with as many decimals as it has, at least two."""
    whole, parts = divmod(micros, 1_000_000)
    decimals = f"{parts:06}".rstrip("0").ljust(2, "0")
    return f"${whole}.{decimals}"


def may_change(caller: Principal, subject: BudgetSubject, former: Budget | None) -> bool:
    """Report whether a caller may set or remove a budget: administrators each of their
    organization, everybody those of themselves and of their own sandboxes, unless an administrator
    set it. No agent may, since it would raise its own. The sandbox is the caller's to begin
    with."""
    if caller.kind is ActorKind.AGENT:
        return False
    if caller.may(Capability.ORG_MANAGE):
        return True
    if former is not None and former.by_admin:
        return False
    own_person = subject == BudgetSubject(BudgetScope.PERSON, caller.id)
    return own_person or subject.scope is BudgetScope.SANDBOX
