"""Leases of a budget: many doors never spend more than there is, whatever becomes of them."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.broker.allowance import Allowance, Bounds, LeasedMoney
from atoll.domain.budgets.budget import BudgetStanding
from atoll.domain.budgets.lease import (
    LEAST_LEASE,
    BudgetLease,
    is_due,
    is_settled,
    leasable,
    open_lease,
    renew,
    settle,
)
from atoll.domain.ids import SandboxId
from atoll.testing.samples import sandbox
from atoll.wire.words.meters import BudgetPeriod, BudgetScope
from atoll.wire.words.sandboxes import State
from tests.domain.budgets.test_budget import budget

NOW = datetime(2026, 12, 31, 12, tzinfo=UTC)
BOX = sandbox("one")
SHARED = budget(amount=1_000_000)
OWN = budget(BudgetScope.SANDBOX, "sb_1", amount=1_000_000)


def test_lease_is_of_one_generation_and_period() -> None:
    lease = open_lease(SHARED, BOX, NOW)
    assert lease.id == f"bud_1:total:{BOX.id}:1"
    daily = budget(period=BudgetPeriod.DAY)
    assert open_lease(daily, BOX, NOW).id == f"bud_1:2026-12-31:{BOX.id}:1"
    assert open_lease(SHARED, replace(BOX, generation=2), NOW).id != lease.id


def test_shared_budget_is_leased_in_parts_and_that_of_a_sandbox_whole() -> None:
    assert renew(open_lease(SHARED, BOX, NOW), SHARED, 1_000_000).granted == 250_000
    assert renew(open_lease(OWN, BOX, NOW), OWN, 1_000_000).granted == 1_000_000
    assert renew(open_lease(SHARED, BOX, NOW), SHARED, 100_000).granted == LEAST_LEASE
    assert renew(open_lease(SHARED, BOX, NOW), SHARED, 7).granted == 7


def test_lease_is_due_when_half_is_spent_or_nothing_is_left() -> None:
    lease = renew(open_lease(SHARED, BOX, NOW), SHARED, 1_000_000)
    assert is_due(open_lease(SHARED, BOX, NOW), SHARED, 1_000_000)
    assert not is_due(lease, SHARED, 750_000)
    assert is_due(replace(lease, spent=150_000), SHARED, 750_000)
    assert not is_due(replace(lease, spent=150_000), SHARED, 0)
    spent = replace(lease, spent=250_001)
    assert is_due(spent, SHARED, 0)
    final = renew(spent, SHARED, 0)
    assert final.final and not is_due(final, SHARED, 0)
    assert is_due(final, SHARED, 10) and not renew(final, SHARED, 10).final


def test_lease_is_settled_once_nothing_more_can_come_of_it() -> None:
    lease = replace(open_lease(SHARED, BOX, NOW), granted=10, spent=4)
    running = replace(BOX, state=State.READY)
    assert not is_settled(lease, running)
    assert not is_settled(lease, replace(BOX, state=State.FAILED))
    assert is_settled(lease, None) and is_settled(lease, replace(running, generation=2))
    assert all(is_settled(lease, replace(BOX, state=s)) for s in (State.STOPPED, State.DESTROYED))
    assert (settle(lease).granted, settle(lease).outstanding) == (4, 0)
    assert settle(replace(lease, spent=11)).granted == 10


def test_leases_of_another_period_take_nothing_away() -> None:
    lease = replace(open_lease(SHARED, BOX, NOW), granted=10)
    standing = BudgetStanding(SHARED, 0, None)
    assert leasable(standing, [lease], None) == 999_990
    assert leasable(standing, [replace(lease, since=NOW)], None) == 1_000_000
    assert leasable(BudgetStanding(SHARED, 999_995, None), [lease], None) == -5


def test_lowered_budget_shortens_leases_and_takes_no_spending_back() -> None:
    lease = replace(open_lease(SHARED, BOX, NOW), granted=100, spent=30)
    assert is_due(lease, SHARED, -20) and not is_due(lease, SHARED, 0)
    shorter = renew(lease, SHARED, -20)
    assert (shorter.granted, shorter.final) == (80, False)
    spent = renew(lease, SHARED, -500)
    assert (spent.granted, spent.outstanding, spent.final) == (30, 0, True)
    assert not is_due(spent, SHARED, -430)
    # An answer that cost more than its lease is spent, and shortens the others.
    over = renew(replace(lease, spent=140), SHARED, -40)
    assert (over.granted, over.outstanding) == (140, 0)


class _Fleet:
    """Doors with real allowances, and a control plane that hears of them only now and then."""

    def __init__(self, amount: int, count: int) -> None:
        self.budget = budget(amount=amount)
        self.spent = 0
        self.leases: dict[str, BudgetLease] = {}
        self.lives = [0] * count
        self.doors = [Allowance(0.0) for _ in range(count)]
        self.unreported = [0] * count
        self.truth = 0
        self.dearest = 0

    def fresh(self, number: int) -> BudgetLease:
        box = replace(BOX, id=SandboxId(f"sb_{number}"), generation=self.lives[number] + 1)
        return open_lease(self.budget, box, NOW)

    def grant(self, number: int) -> None:
        fresh = self.fresh(number)
        left = leasable(BudgetStanding(self.budget, self.spent, None), self.leases.values(), None)
        lease = renew(self.leases.get(fresh.id, fresh), self.budget, left)
        self.leases[lease.id] = lease
        money = LeasedMoney(lease.id, lease.granted, f"{self.budget.id} is spent")
        self.doors[number].apply(Bounds(leases=(money,)))

    def call(self, number: int, cost: int) -> None:
        door = self.doors[number]
        refused = door.enter("anthropic", 0.0)
        if refused is None:
            door.leave("anthropic", cost)
            self.unreported[number] += cost
            self.truth += cost
            self.dearest = max(self.dearest, cost)

    def report(self, number: int) -> None:
        micros, self.unreported[number] = self.unreported[number], 0
        lease = self.leases.get(self.fresh(number).id)
        self.spent += micros
        if lease is not None:
            self.leases[lease.id] = replace(lease, spent=lease.spent + micros)

    def lose(self, number: int) -> None:
        """End a life whose last spending is never reported: its lease is spent, as far as known."""
        self.unreported[number] = 0
        self.lives[number] += 1
        self.doors[number] = Allowance(0.0)
        self.doors[number].apply(Bounds(leases=(LeasedMoney("none", 0, "none yet"),)))


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["grant", "call", "call", "report", "lose"]),
        st.integers(0, 3),
        st.integers(1, 60_000),
    ),
    max_size=80,
)


@given(st.integers(0, 2_000_000), ACTS)
def test_many_doors_never_spend_one_budget_many_times(
    amount: int, acts: list[tuple[str, int, int]]
) -> None:
    fleet = _Fleet(amount, 4)
    for number in range(4):
        fleet.lose(number)
    for act, number, cost in acts:
        if act == "call":
            fleet.call(number, cost)
        else:
            getattr(fleet, act)(number)
    lives = 4 + sum(act == "lose" for act, _, _ in acts)
    assert fleet.truth <= amount + lives * fleet.dearest
    leased = sum(lease.outstanding for lease in fleet.leases.values())
    assert fleet.spent + leased <= max(amount, fleet.spent) + lives * fleet.dearest


def test_doors_spend_all_that_there_is_and_then_no_more() -> None:
    fleet = _Fleet(1_000_000, 20)
    for _ in range(400):
        for number in range(20):
            fleet.grant(number)
            fleet.call(number, 10_000)
            fleet.report(number)
    assert 1_000_000 <= fleet.truth <= 1_000_000 + 20 * 10_000
