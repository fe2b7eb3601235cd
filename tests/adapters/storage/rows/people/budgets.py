"""Checks of the rows of budgets, and of the spending that counts against them."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.budgets.budget import Budget, BudgetId, BudgetSubject, BudgetTerms, day_of
from atoll.domain.budgets.lease import LeaseId, open_lease
from atoll.domain.budgets.spender import Spender, SpendingFilter
from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId
from atoll.ports import Store
from atoll.testing.samples import NOW, OTHER, OWNER, sandbox
from atoll.wire.words.meters import AtLimit, BudgetPeriod, BudgetScope

ELSE = OrgId("else")
LARGE = 10**15
OWN = Budget(
    BudgetId("bud_1"),
    PERSONAL_ORG,
    BudgetSubject(BudgetScope.PERSON, OWNER),
    BudgetTerms(LARGE, BudgetPeriod.MONTH, (50, 80), AtLimit.REFUSE),
    OWNER,
    NOW,
    True,
)
SPENDER = Spender(PERSONAL_ORG, OWNER, "codex", "ci/run-1", SandboxId("sb_1"))


async def check_budgets_are_kept_by_organization_and_key(store: Store) -> None:
    whole = BudgetSubject(BudgetScope.ORGANIZATION, PERSONAL_ORG)
    all_time = replace(OWN.terms, period=BudgetPeriod.TOTAL, warn_at=())
    later, first = (
        replace(OWN, id=BudgetId("bud_2"), terms=all_time),
        replace(OWN, id=BudgetId("bud_3"), subject=whole),
    )
    async with store.begin() as rows:
        for budget in (later, OWN, first, replace(OWN, id=BudgetId("bud_4"), org_id=ELSE)):
            await rows.budgets.put(budget)
        await rows.budgets.put(replace(OWN, set_by=OTHER))
        found = await rows.budgets.of_organization(PERSONAL_ORG)
        assert found == [first, replace(OWN, set_by=OTHER), later]
        assert await rows.budgets.get(BudgetId("bud_2")) == later
        await rows.budgets.remove(BudgetId("bud_2"))
    async with store.read() as rows:
        assert await rows.budgets.get(BudgetId("bud_2")) is None
        assert len(await rows.budgets.of_organization(ELSE)) == 1
        assert {each.org_id for each in await rows.budgets.everything()} == {PERSONAL_ORG, ELSE}


async def check_leases_are_found_by_budget_sandbox_and_what_is_outstanding(store: Store) -> None:
    first = open_lease(OWN, sandbox("one", number=1), NOW)
    second = replace(open_lease(OWN, sandbox("two", number=2), NOW), granted=LARGE)
    other = replace(first, id=LeaseId("other"), budget_id=BudgetId("bud_2"))
    async with store.begin() as rows:
        for lease in (first, second, other):
            await rows.budget_leases.put(lease)
        assert await rows.budget_leases.of_budget(OWN.id) == sorted(
            (first, second), key=lambda lease: lease.id
        )
        assert len(await rows.budget_leases.of_sandbox(first.sandbox_id)) == 2
        assert await rows.budget_leases.outstanding() == [second]
        await rows.budget_leases.put(replace(second, spent=LARGE))
        assert await rows.budget_leases.outstanding() == []
        assert await rows.budget_leases.get(second.id) == replace(second, spent=LARGE)
        await rows.budget_leases.drop(OWN.id)
    async with store.read() as rows:
        assert await rows.budget_leases.of_budget(OWN.id) == []
        assert await rows.budget_leases.of_sandbox(first.sandbox_id) == [other]


async def check_spending_is_summed_by_what_is_wanted(store: Store) -> None:
    day = day_of(NOW)
    other = replace(SPENDER, owner=OTHER, sandbox_id=SandboxId("sb_2"), agent="a\0", consumer="c")
    async with store.begin() as rows:
        assert await rows.spending.sum(SpendingFilter(PERSONAL_ORG)) == 0
        for spender, at, micros in (
            (SPENDER, day, LARGE),
            (SPENDER, day, 1),
            (SPENDER, day - timedelta(days=1), 10),
            (other, day, 100),
            (replace(SPENDER, owner=OTHER), day, 1000),
            (replace(SPENDER, org_id=ELSE, sandbox_id=SandboxId("sb_3")), day, 7),
        ):
            await rows.spending.add(spender, at, micros)
    every = SpendingFilter(PERSONAL_ORG)
    async with store.read() as rows:
        for wanted, micros in (
            (every, LARGE + 1111),
            (replace(every, since=day), LARGE + 1101),
            (replace(every, since=day + timedelta(days=1)), 0),
            (replace(every, owner=OTHER), 1100),
            (replace(every, agent="codex"), LARGE + 1011),
            (replace(every, sandbox_id=SandboxId("sb_1")), LARGE + 1011),
            (replace(every, consumer="ci"), LARGE + 1011),
            (replace(every, consumer="ci/run-1"), LARGE + 1011),
            (replace(every, consumer="c"), 100),
            (replace(every, consumer="ci/run"), 0),
            (replace(every, org_id=ELSE), 7),
        ):
            assert await rows.spending.sum(wanted) == micros, wanted
