from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.budgets.budget import (
    Budget,
    BudgetId,
    BudgetStanding,
    BudgetSubject,
    BudgetTerms,
    binds,
    check_left,
    counted_by,
    day_of,
    may_change,
    period_begin,
    period_end,
    reader_of,
    spelled_money,
    stream_of,
    tightest,
)
from atoll.domain.budgets.spender import Spender, SpendingFilter, consumer_name, spender_of
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Consumer
from atoll.testing.samples import sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.meters import AtLimit, BudgetPeriod, BudgetScope

NOW = datetime(2026, 12, 31, 23, 59, 59, 5, tzinfo=UTC)
ACME, ADA = OrgId("acme"), PrincipalId("ada")
SPENDER = Spender(ACME, ADA, "codex", "ci/run-1", SandboxId("sb_1"))
MEMBER = Principal(ACME, ADA, ActorKind.PERSON)
ADMIN = replace(MEMBER, id=PrincipalId("root"), capabilities=frozenset({Capability.ORG_MANAGE}))


def budget(
    scope: BudgetScope = BudgetScope.PERSON,
    name: str = "ada",
    *,
    amount: int = 100,
    period: BudgetPeriod = BudgetPeriod.TOTAL,
    warn_at: tuple[int, ...] = (),
    at_limit: AtLimit = AtLimit.REFUSE,
) -> Budget:
    terms = BudgetTerms(amount, period, warn_at, at_limit)
    subject = BudgetSubject(scope, name)
    return Budget(BudgetId("bud_1"), ACME, subject, terms, ADA, NOW, False)


def standing(one: Budget, spent: int) -> BudgetStanding:
    return BudgetStanding(one, spent, period_end(one.terms.period, NOW))


@pytest.mark.parametrize(
    ("scope", "bound", "strange", "counted"),
    [
        (BudgetScope.ORGANIZATION, ("acme",), (), {}),
        (BudgetScope.PERSON, ("ada",), ("bob",), {"owner": "ada"}),
        (BudgetScope.AGENT, ("codex",), ("claude", "code"), {"agent": "codex"}),
        (BudgetScope.CONSUMER, ("ci/run-1", "ci"), ("c", "ci/run"), {"consumer": "ci/run-1"}),
        (BudgetScope.SANDBOX, ("sb_1",), ("sb_2",), {"sandbox_id": "sb_1"}),
    ],
)
def test_budget_binds_its_subject_alone(
    scope: BudgetScope, bound: tuple[str, ...], strange: tuple[str, ...], counted: dict[str, str]
) -> None:
    assert all(binds(budget(scope, name), SPENDER) for name in bound)
    assert not any(binds(budget(scope, name), SPENDER) for name in strange)
    assert not binds(budget(scope, bound[0]), replace(SPENDER, org_id=OrgId("else")))
    monthly = budget(scope, bound[0], period=BudgetPeriod.MONTH)
    begin = datetime(2026, 12, 1, tzinfo=UTC)
    expected = replace(SpendingFilter(ACME, since=begin), **counted)  # type: ignore[arg-type]
    assert counted_by(monthly, NOW) == expected


def test_periods_begin_and_end_at_midnight_utc() -> None:
    assert day_of(NOW) == datetime(2026, 12, 31, tzinfo=UTC)
    assert period_begin(BudgetPeriod.TOTAL, NOW) is period_end(BudgetPeriod.TOTAL, NOW) is None
    new_year = datetime(2027, 1, 1, tzinfo=UTC)
    assert period_begin(BudgetPeriod.DAY, NOW) == datetime(2026, 12, 31, tzinfo=UTC)
    assert period_end(BudgetPeriod.DAY, NOW) == period_end(BudgetPeriod.MONTH, NOW) == new_year


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2060, 1, 1)).map(lambda at: at.replace(tzinfo=UTC)),
    st.sampled_from([BudgetPeriod.DAY, BudgetPeriod.MONTH]),
)
def test_every_moment_lies_in_one_period(at: datetime, period: BudgetPeriod) -> None:
    begin, end = period_begin(period, at), period_end(period, at)
    assert begin is not None and end is not None
    assert begin <= at < end
    assert period_begin(period, end) == end
    assert period_begin(period, end - timedelta(microseconds=1)) == begin


def test_standing_tells_what_is_left_and_warns_at_each_percent_once() -> None:
    one = budget(amount=200, warn_at=(50, 80))
    assert (standing(one, 99).warned, standing(one, 100).warned) == (None, 50)
    assert (standing(one, 500).warned, standing(one, 500).left_micros) == (80, 0)
    assert (standing(one, 199).reached, standing(one, 200).reached) == (False, True)
    assert standing(one, 190).passed_since(0) == (50, 80)
    assert standing(one, 190).passed_since(120) == (80,)
    assert standing(one, 190).passed_since(180) == ()


def test_tightest_budget_refuses_and_its_refusal_names_it() -> None:
    wide, narrow = standing(budget(amount=500), 100), standing(budget(amount=2_500_000), 2_500_001)
    warning = standing(budget(at_limit=AtLimit.WARN), 900)
    assert tightest([warning]) is None
    assert tightest([wide, warning, narrow]) is narrow
    check_left([wide, warning])
    check_left([])
    with pytest.raises(LimitReached) as refused:
        check_left([wide, narrow, warning])
    assert refused.value.code == "budget_reached"
    assert refused.value.message == (
        "The budget bud_1 of the person ada is spent: $2.500001 of $2.50 (total). To raise it, ask "
        "ada or an administrator: `atoll budget set`."
    )
    by_admin = replace(budget(period=BudgetPeriod.DAY, amount=0), by_admin=True)
    with pytest.raises(LimitReached, match=r"anew at 2027-01-01 00:00 UTC.*ask an administrator:"):
        check_left([standing(by_admin, 0)])


def test_money_is_spelled_exactly() -> None:
    spelled = [spelled_money(micros) for micros in (0, 1, 20_000_000, 1_230_000, 10**15)]
    assert spelled == ["$0.00", "$0.000001", "$20.00", "$1.23", "$1000000000.00"]


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_subjects_that_cannot_be_shown_are_invalid(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        BudgetSubject(BudgetScope.AGENT, name)
    assert refused.value.field == "subject"


def test_terms_that_cannot_hold_are_invalid() -> None:
    for more, field in (({"currency": "EUR"}, "currency"), ({"warn_at": (80, 50)}, "warn_at")):
        with pytest.raises(Invalid) as refused:
            replace(budget().terms, **more)
        assert refused.value.field == field
    with pytest.raises(Invalid):
        replace(budget().terms, warn_at=(50, 50))


def test_events_belong_to_the_person_bound_or_to_who_set_it() -> None:
    assert stream_of(budget()) == "org:acme"
    assert reader_of(budget(name="bob")) == "bob"
    assert reader_of(budget(BudgetScope.AGENT, "codex")) == ADA
    assert budget().key == (BudgetSubject(BudgetScope.PERSON, "ada"), BudgetPeriod.TOTAL)


def test_only_administrators_raise_what_an_administrator_set() -> None:
    own, box = budget().subject, BudgetSubject(BudgetScope.SANDBOX, "sb_1")
    other, whole = replace(own, name="bob"), BudgetSubject(BudgetScope.ORGANIZATION, "acme")
    assert all(may_change(ADMIN, subject, None) for subject in (own, box, other, whole))
    assert [may_change(MEMBER, each, None) for each in (own, box, other, whole)] == [
        *(True, True),
        *(False, False),
    ]
    strict = replace(budget(), by_admin=True)
    assert may_change(MEMBER, own, budget()) and not may_change(MEMBER, own, strict)
    assert may_change(ADMIN, own, strict)
    assert not may_change(replace(ADMIN, kind=ActorKind.AGENT), own, None)


def test_spender_has_the_names_of_its_sandbox() -> None:
    box = replace(sandbox("one"), consumer=Consumer(harness="ci", run_id="run-1"))
    spender = spender_of(box)
    assert (spender.sandbox_id, spender.owner, spender.consumer) == (box.id, box.owner, "ci/run-1")
    assert spender.agent == (box.agent or "")
    assert consumer_name(Consumer(harness="ci")) == "ci"
    assert consumer_name(Consumer(run_id="run-1")) == ""
