import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from atoll.domain.meters.derivation import KINDS, cut, fold, is_due
from atoll.domain.meters.interval import hour_of
from atoll.domain.meters.meter import UNITS, Meter
from atoll.domain.meters.state import Reservation, read_reserved, request_facts
from atoll.domain.wall.resources import Resources
from atoll.testing.samples import sandbox
from atoll.wire.words.meters import MeterKind, Source, Unit
from tests.domain.meters.scene import (
    E2B,
    FREE,
    NOW,
    REQUESTED,
    RESOURCES,
    Prices,
    derive,
    event,
    life,
    micros,
    quantity,
)

RUNNING, PAUSED, STOPPED = MeterKind.RUNNING, MeterKind.PAUSED, MeterKind.STOPPED


def test_life_is_counted_by_state() -> None:
    history = life(
        ("provisioning", 0), ("ready", 1), ("active", 2), ("stopped", 12),
        ("provisioning", 112), ("ready", 113), ("stopped", 123, {"asleep": True}),
        ("destroying", 1123), ("destroyed", 1124),
    )  # fmt: skip
    state, meters = derive(history, until=9000)
    assert quantity(meters, RUNNING) == 12 + 11
    assert (quantity(meters, STOPPED), quantity(meters, PAUSED)) == (100 + 1, 1000)
    assert quantity(meters, MeterKind.CREATION) == 1
    assert (state.ended, state.over, state.phase) == (True, True, None)
    assert state.moment == NOW + timedelta(seconds=9000)


def test_meters_carry_whose_they_are_and_where() -> None:
    _, meters = derive(life(("provisioning", 0), ("stopped", 60)), E2B)
    subject = meters[0].subject
    assert (subject.owner, subject.agent, subject.consumer) == ("ada", "codex", "ci/7")
    assert (subject.extension, subject.host, subject.region) == ("e2b", "", "eu")
    assert (subject.org_id, subject.sandbox_id, subject.generation) == ("acme", "sb_1", 1)
    cpu = next(meter for meter in meters if meter.kind is MeterKind.CPU)
    assert (cpu.quantity, cpu.unit, cpu.source) == (120, Unit.CORE_SECOND, Source.DECLARED)
    assert cpu.charge is not None
    assert (cpu.charge.price_id, cpu.charge.micros) == ("e2b@list/cpu", 120 * 14)
    assert meters[0].source is Source.MEASURED
    assert set(UNITS) == set(MeterKind)


def test_stopped_costs_its_disk_only() -> None:
    _, meters = derive(life(("provisioning", 0), ("ready", 0), ("stopped", 0)), E2B, until=7000)
    assert {meter.kind for meter in meters} == {STOPPED, MeterKind.DISK, MeterKind.CREATION}
    assert quantity(meters, MeterKind.DISK) == 70_000
    assert micros(meters, MeterKind.DISK) == 10_000


def test_fallback_closes_one_interval_before_the_next_opens() -> None:
    elsewhere: dict[str, Any] = {"extension": "namespaces", "host": "local", "region": ""}
    history = life(("provisioning", 0), ("rerouted", 10, elsewhere), ("ready", 12))
    _, meters = derive(history, E2B, until=20)
    spans = [
        (meter.subject.extension, meter.begin, meter.end)
        for meter in meters
        if meter.kind is RUNNING
    ]
    assert [name for name, _, _ in spans] == ["e2b", "namespaces", "namespaces"]
    assert all(before[2] == after[1] for before, after in itertools.pairwise(spans))
    assert quantity(meters, MeterKind.CREATION) == 2
    assert all(one.charge is None for one in meters if one.subject.extension == "namespaces")
    other = life(("rerouted", 1, {**elsewhere, "resources": {"cpu": 1}}))
    assert derive(other)[0].reserved == Reservation(1000)


def test_relocation_and_gift_change_whose_and_where_from_then_on() -> None:
    history = life(
        ("provisioning", 0), ("ready", 0), ("stopped", 5),
        ("relocated", 10, {"from": "a", "to": "b"}), ("given", 20, {"from": "ada", "to": "bob"}),
    )  # fmt: skip
    _, meters = derive(history, until=30)
    stopped = [(m.subject.host, m.subject.owner) for m in meters if m.kind is STOPPED]
    assert stopped == [("", "ada"), ("b", "ada"), ("b", "bob")]


def test_interval_is_cut_at_each_full_hour() -> None:
    _, meters = derive(life(("provisioning", 0)), E2B, until=3 * 3600)
    running = [meter for meter in meters if meter.kind is RUNNING]
    assert [meter.end for meter in running[:-1]] == [
        hour_of(NOW) + timedelta(hours=hours) for hours in (1, 2, 3)
    ]
    assert quantity(meters, RUNNING) == 3 * 3600
    assert len({meter.id for meter in meters}) == len(meters)


def test_what_is_due_is_cut_and_what_stands_still_is_not() -> None:
    state, _ = derive(life(("provisioning", 0)), E2B)
    assert not is_due(state, NOW + timedelta(minutes=50), E2B)
    assert is_due(state, NOW + timedelta(minutes=56), E2B)
    assert is_due(state, NOW, Prices({MeterKind.CPU: (15, 1)}))
    over, _ = derive(life(("provisioning", 0), ("failed", 1)), E2B, until=2)
    assert over.phase is None
    assert not is_due(over, NOW + timedelta(days=9), FREE)


def test_change_of_price_counts_from_the_cut_on() -> None:
    dearer = Prices({MeterKind.CPU: (28, 1)}, name="dearer")
    state, _ = derive(life(("provisioning", 0)), Prices({MeterKind.CPU: (14, 1)}))
    state, first = cut(state, NOW + timedelta(seconds=10), dearer)
    _, then = cut(state, NOW + timedelta(seconds=20), dearer)
    assert (micros(first), micros(then)) == (2 * 10 * 14, 2 * 10 * 28)


def test_parts_of_a_micro_are_carried_on() -> None:
    third = Prices({RUNNING: (1, 3)})
    state, found = derive(life(("provisioning", 0)), third)
    for second in range(1, 31):
        state, meters = cut(state, NOW + timedelta(seconds=second / 2), third)
        found += meters
    assert (quantity(found, RUNNING), micros(found)) == (15, 5)


def test_event_that_the_state_has_changes_nothing() -> None:
    history = life(("provisioning", 0), ("ready", 1), ("stopped", 5))
    state, _ = derive(history)
    for each in history:
        assert fold(state, each, FREE) == (state, ())


def test_clock_set_back_gives_no_negative_and_no_doubled_time() -> None:
    history = life(("provisioning", 0), ("ready", 100), ("stopped", 40), ("destroyed", 130))
    _, meters = derive(history)
    assert quantity(meters, RUNNING) + quantity(meters, STOPPED) == 130
    assert all(meter.begin <= meter.end for meter in meters)


def test_failure_keeps_a_disk_only_where_there_was_one() -> None:
    never, _ = derive(life(("provisioning", 0), ("failed", 1)))
    once, _ = derive(life(("provisioning", 0), ("ready", 1), ("failed", 2)))
    assert (never.phase, once.phase) == (None, STOPPED)
    assert derive(life(("provisioning", 0), ("ready", 1), ("expired", 2)))[0].phase is STOPPED


def test_recreation_makes_another_environment_and_a_start_does_not() -> None:
    again: dict[str, Any] = {"generation": 2}
    history = life(
        ("provisioning", 0), ("ready", 1), ("stopped", 2), ("provisioning", 3), ("ready", 4),
        ("provisioning", 5, again), ("ready", 6, again),
    )  # fmt: skip
    state, meters = derive(history, E2B, until=10)
    assert quantity(meters, MeterKind.CREATION) == 2
    assert micros(meters, MeterKind.CREATION) == 5
    assert state.subject.generation == 2


def test_snapshots_cost_for_as_long_as_they_are_there() -> None:
    size = 1 << 30
    history = life(
        ("snapshot.taken", 0, {"snapshot_id": "sn_1", "size": size}),
        ("snapshot.taken", 10, {"snapshot_id": "sn_2", "size": 2 * size}),
        ("destroyed", 15), ("snapshot.removed", 20, {"snapshot_id": "sn_1"}),
        ("snapshot.taken", 20, {"snapshot_id": "sn_3", "size": True}),
        ("snapshot.taken", 20, {"snapshot_id": "sn_4", "size": -5}),
    )  # fmt: skip
    state, meters = derive(history, E2B, until=30)
    assert quantity(meters, MeterKind.SNAPSHOTS) == 10 + 30 + 20
    assert micros(meters, MeterKind.SNAPSHOTS) == 20
    assert (state.over, state.snapshots) == (False, (("sn_2", 2 * size),))


def test_sandbox_that_the_log_no_longer_begins_with_is_counted_from_its_first_event() -> None:
    state, meters = derive([event(5, "sandbox.stopped")], until=60)
    assert (state.subject.owner, state.subject.sandbox_id) == ("", "sb_1")
    assert quantity(meters, STOPPED) == 60


@pytest.mark.parametrize(
    ("facts", "reserved"),
    [
        (RESOURCES, Reservation(2000, 512, 10240)),
        ({"cpu": 0.5}, Reservation(500)),
        ({"cpu": True, "memory_mb": 1.5, "workspace_mb": -1}, Reservation()),
        ({"cpu": float("nan"), "memory_mb": True, "workspace_mb": 1 << 50}, Reservation()),
        ({"cpu": 1e300}, Reservation()),
        ({"cpu": -1}, Reservation()),
        ("many", Reservation()),
    ],
)
def test_reserved_resources_are_read_strictly(facts: Any, reserved: Reservation) -> None:
    assert read_reserved(facts) == reserved


def test_request_says_what_its_meters_follow_from() -> None:
    made = sandbox("one")
    own = replace(made.profile, resources=Resources(cpu=1.5))
    made = replace(made, profile=own, agent="codex", region="eu")
    defaults = Resources(cpu=4, memory_mb=2048)
    assert request_facts(made, defaults) == {
        "owner": made.owner,
        "agent": "codex",
        "region": "eu",
        "resources": {"cpu": 1.5, "memory_mb": 2048},
    }
    elsewhere = replace(made, host="", agent=None, region="")
    assert request_facts(elsewhere, defaults) == {"owner": made.owner, "resources": {"cpu": 1.5}}


def test_consumer_is_told_by_its_harness_and_id() -> None:
    def named(**consumer: Any) -> str:
        made = event(1, "sandbox.requested", 0, {**REQUESTED, "consumer": consumer})
        return derive([made])[0].subject.consumer

    assert named(harness="ci", session_id="s") == "ci/s"
    assert named(harness="ci") == "ci"
    assert named(run_id="7") == ""
    wrong: dict[str, Any] = {"extension": "e2b", "host": 5, "generation": "x"}
    bare = event(1, "sandbox.requested", 0, wrong)
    subject = derive([bare, replace(bare, position=2, event_type="sandbox.provisioning")])[
        0
    ].subject
    assert (subject.consumer, subject.host, subject.owner, subject.generation) == ("", "", "ada", 1)


def test_every_kind_is_folded_into_any_state() -> None:
    made: list[Meter] = []
    state, _ = derive(life(("provisioning", 0)))
    for position, kind in enumerate(sorted(KINDS), 10):
        state, meters = fold(state, event(position, kind, position), E2B)
        made += meters
    assert all(meter.quantity >= 0 for meter in made)
