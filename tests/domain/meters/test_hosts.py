from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.hosts.host import LOCAL_HOST, Capacity, HourlyCost
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.meters.cost import cost_of, hourly, sum_totals, total_of
from atoll.domain.meters.hosts import (
    HOUR_US,
    WHOLE,
    HostState,
    HostTerms,
    change_terms,
    cut_host,
    holds_room,
    host_is_due,
    leave,
    open_host,
    reserve,
    terms_of,
    weights_of,
)
from atoll.domain.meters.meter import Meter, Subject
from atoll.domain.meters.state import MeterState, Reservation
from atoll.wire.words.meters import MeterKind
from tests.domain.meters.scene import E2B, FREE, NOW, Prices, derive, life, micros, quantity

TERMS = HostTerms(3_600_000, "USD", 4000, 8192)
BY_COUNT = HostTerms(3_600_000, "USD")
HOME = OrgId("home")


def sandbox(name: str, cpu: int | None = 1000, memory: int | None = 1024) -> MeterState:
    subject = Subject(SandboxId(name), OrgId("acme"), PrincipalId("ada"), host="local")
    return MeterState(subject, NOW, phase=MeterKind.RUNNING, reserved=Reservation(cpu, memory))


def host(terms: HostTerms = TERMS) -> HostState:
    return open_host(LOCAL_HOST, terms, NOW, org_id=HOME)


def test_sandbox_pays_the_larger_of_its_shares_and_the_rest_is_idle() -> None:
    state, _ = reserve(host(), sandbox("sb_1", 1000, 4096), NOW)
    assert weights_of(state) == [WHOLE // 2]
    state, meters = cut_host(state, NOW + timedelta(seconds=1000))
    own = [one for one in meters if one.subject.sandbox_id == "sb_1"]
    idle = [one for one in meters if one.subject.sandbox_id is None]
    assert (micros(own), quantity(own, MeterKind.HOST)) == (500_000, 500)
    assert (micros(idle), quantity(idle, MeterKind.HOST)) == (500_000, 500)
    assert idle[0].subject.org_id == "home"
    assert own[0].charge is not None
    assert own[0].charge.price_id == "host/local@3600000"


def test_host_without_a_capacity_is_shared_by_count() -> None:
    state = host(BY_COUNT)
    for number in range(4):
        state, _ = reserve(state, sandbox(f"sb_{number}"), NOW)
    _, meters = cut_host(state, NOW + timedelta(seconds=100))
    assert [micros([one]) for one in meters] == [25_000] * 4


def test_shares_that_are_more_than_the_host_are_reduced_together() -> None:
    state, _ = reserve(host(), sandbox("sb_1", 4000, 100), NOW)
    state, _ = reserve(state, sandbox("sb_2", 100, 8192), NOW)
    assert weights_of(state) == [WHOLE // 2] * 2


def test_sandbox_whose_room_is_unknown_has_its_share_by_count() -> None:
    state, _ = reserve(host(), sandbox("sb_1", None, None), NOW)
    state, _ = reserve(state, sandbox("sb_2", 1000, None), NOW)
    assert weights_of(state) == [WHOLE // 2, WHOLE // 4]


def test_sandbox_that_is_seated_again_is_there_once() -> None:
    state, _ = reserve(host(), sandbox("sb_1"), NOW)
    state, meters = reserve(state, sandbox("sb_1", 2000), NOW + timedelta(seconds=40))
    assert [one.reserved.cpu_milli for one in state.shares] == [2000]
    assert micros(meters) == 10_000
    state, meters = leave(state, Subject(SandboxId("sb_9"), HOME, PrincipalId("")), NOW)
    assert (len(state.shares), meters) == (1, ())


def test_change_of_cost_closes_what_was_before() -> None:
    state, _ = reserve(host(BY_COUNT), sandbox("sb_1"), NOW)
    state, before = change_terms(
        state, NOW + timedelta(seconds=10), replace(BY_COUNT, micros=7_200_000)
    )
    _, after = cut_host(state, NOW + timedelta(seconds=20))
    assert (micros(before), micros(after)) == (10_000, 20_000)
    part = replace(state, idle=replace(state.idle, money=5))
    euro, _ = change_terms(part, state.moment, HostTerms(1, "EUR"))
    assert (euro.idle.money, euro.terms.currency) == (0, "EUR")


def test_host_is_cut_at_each_full_hour() -> None:
    state, _ = reserve(host(BY_COUNT), sandbox("sb_1"), NOW)
    _, meters = cut_host(state, NOW + timedelta(hours=2))
    assert [one.end.minute for one in meters] == [0, 0, NOW.minute]
    assert micros(meters) == 7_200_000


def test_host_is_due_once_an_hour() -> None:
    assert not host_is_due(host(), NOW + timedelta(minutes=55))
    assert host_is_due(host(), NOW + timedelta(minutes=56))


def test_terms_of_a_host_are_its_cost_and_its_room_with_overcommit() -> None:
    assert terms_of(LOCAL_HOST) is None
    costly = replace(
        LOCAL_HOST,
        cost_per_hour=HourlyCost(5, "EUR"),
        capacity=Capacity(cpu=2, memory_mb=1000),
        overcommit=1.5,
    )
    assert terms_of(costly) == HostTerms(5, "EUR", 3000, 1500)
    assert terms_of(replace(costly, capacity=Capacity(cpu=0))) == HostTerms(5, "EUR")


def test_only_what_runs_on_a_host_has_room_reserved() -> None:
    running = sandbox("sb_1")
    assert holds_room(running)
    assert not holds_room(None)
    assert not holds_room(replace(running, phase=MeterKind.STOPPED))
    assert not holds_room(replace(running, subject=replace(running.subject, host="")))


moves = st.lists(
    st.tuples(
        st.floats(-50, 20_000),
        st.integers(0, 4),
        st.booleans(),
        st.integers(0, 6000),
        st.integers(0, 9000),
    ),
    max_size=15,
)


@given(moves, st.lists(st.floats(0, 20_000), max_size=6), st.sampled_from([TERMS, BY_COUNT]))
def test_shares_and_idle_time_add_up_to_the_host(
    drawn: list[tuple[float, int, bool, int, int]], cuts: list[float], terms: HostTerms
) -> None:
    acts = [*drawn, *((at, None, False, 0, 0) for at in cuts)]
    state, found = host(terms), list[Meter]()
    for at, name, comes, cpu, memory in acts:
        moment = NOW + timedelta(seconds=at)
        if name is None:
            state, meters = cut_host(state, moment)
        elif comes:
            state, meters = reserve(state, sandbox(f"sb_{name}", cpu, memory), moment)
        else:
            state, meters = leave(state, sandbox(f"sb_{name}").subject, moment)
        found += meters
    state, meters = cut_host(state, NOW + timedelta(seconds=20_000))
    found += meters
    left = sum(share.money for share in (*state.shares, state.idle))
    assert micros(found) * HOUR_US + left == terms.micros * 20_000 * 1_000_000
    parts = sum(share.parts for share in (*state.shares, state.idle))
    assert quantity(found, MeterKind.HOST) * WHOLE * 10**6 + parts == WHOLE * 20_000 * 10**6
    assert all(one.quantity >= 0 and micros([one]) >= 0 for one in found)
    assert len({one.id for one in found}) == len(found)


def test_cost_is_so_far_for_an_hour_and_up_to_the_end() -> None:
    state, meters = derive(life(("provisioning", 0)), E2B, until=1800)
    seated, _ = reserve(host(BY_COUNT), state, NOW)
    per_hour = hourly(state, replace(seated, terms=replace(BY_COUNT, currency="EUR")))
    assert per_hour == {"EUR": 3_600_000, "USD": 2 * 14 * 3600 + 8100 + 36000 // 7 + 1}
    now = NOW + timedelta(seconds=1800)
    cost = cost_of(map(total_of, meters), per_hour, now=now, until=now + timedelta(minutes=30))
    assert cost.so_far == {"USD": micros(meters)}
    assert cost.projected["EUR"] == 1_800_000
    assert cost.projected["USD"] == micros(meters) + -(-per_hour["USD"] // 2)
    ended = cost_of((), per_hour, now=now, until=NOW)
    assert (ended.so_far, ended.projected) == ({}, {"EUR": 0, "USD": 0})


@pytest.mark.parametrize("other", [None, "sb_2"])
def test_nothing_is_told_of_a_cost_that_nobody_knows(other: str | None) -> None:
    state, meters = derive(life(("provisioning", 0)), FREE, until=60)
    elsewhere = None if other is None else reserve(host(), sandbox(other), NOW)[0]
    assert hourly(state, elsewhere) == hourly(None, None) == {}
    cost = cost_of(map(total_of, meters), {}, now=NOW, until=NOW)
    assert (cost.so_far, cost.per_hour, cost.projected) == ({}, {}, {})
    assert all(one.micros is None for one in cost.totals)


def test_totals_are_by_kind_agent_and_currency() -> None:
    _, meters = derive(life(("provisioning", 0)), Prices({MeterKind.CPU: (1, 1)}), until=8000)
    totals = sum_totals(map(total_of, meters))
    cpu = next(one for one in totals if one.kind is MeterKind.CPU)
    assert (cpu.quantity, cpu.micros, cpu.currency, cpu.agent) == (16000, 16000, "USD", "codex")
    assert [one.kind for one in totals][:1] == [MeterKind.RUNNING]
