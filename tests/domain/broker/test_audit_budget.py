"""A flood is counted, not written down."""

from atoll.domain.broker.audit_budget import BURST, AuditBudget


def test_budget_of_a_quiet_sandbox_records_everything() -> None:
    budget = AuditBudget(100.0)
    assert [budget.take(100.0 + second) for second in range(1000)] == [0] * 1000


def test_budget_of_a_flood_is_spent_and_the_next_record_tells_how_many_were_missed() -> None:
    budget = AuditBudget(0.0)
    assert [budget.take(0.0) for _ in range(BURST)] == [0] * BURST
    assert [budget.take(0.5) for _ in range(1000)] == [None] * 1000
    assert budget.take(2.0) == 1000
    assert budget.take(2.0) == 0
    assert budget.take(2.0) is None
    assert budget.take(3.0) == 1


def test_budget_says_what_it_missed_without_a_record() -> None:
    budget = AuditBudget(0.0)
    for _ in range(BURST + 3):
        budget.take(0.0)
    assert (budget.missed, budget.affords(0.0), budget.affords(1.0)) == (3, False, True)
    assert (budget.told(), budget.missed, budget.told()) == (3, 0, 0)
