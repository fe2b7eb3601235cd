"""Any partition of any history gives the same totals: restarts, pages twice, cuts, clocks."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from atoll.domain.event import Event, Json
from atoll.domain.meters.derivation import cut, fold
from atoll.domain.meters.meter import Meter
from atoll.domain.meters.state import MeterState
from atoll.wire.words.meters import MeterKind
from tests.domain.meters.scene import E2B, NOW, REQUESTED, Prices, event

DEARER = Prices({kind: (3 * n, d + 1) for kind, (n, d) in E2B.rates.items()}, name="dearer")
TIME = (MeterKind.RUNNING, MeterKind.PAUSED, MeterKind.STOPPED)
END = 4 * 86400.0

kinds = st.sampled_from(
    [
        ("sandbox.provisioning", {}),
        ("sandbox.provisioning", {"generation": 2}),
        ("sandbox.ready", {}),
        ("sandbox.active", {}),
        ("sandbox.stopped", {}),
        ("sandbox.stopped", {"asleep": True}),
        ("sandbox.expired", {}),
        ("sandbox.failed", {}),
        ("sandbox.rerouted", {"extension": "namespaces", "host": "a", "region": ""}),
        ("sandbox.rerouted", {"extension": "e2b", "host": "", "region": "eu"}),
        ("sandbox.destroyed", {}),
        ("snapshot.taken", {"snapshot_id": "sn_1", "size": 12_345_678}),
        ("snapshot.taken", {"snapshot_id": "sn_2", "size": 3 << 30}),
        ("snapshot.removed", {"snapshot_id": "sn_1"}),
        ("door.request", {"door": "broker", "bytes_out": 1234, "tokens_in": 7, "cost_micros": 3}),
    ]
)
seconds = st.one_of(st.floats(0, END), st.integers(0, 9).map(lambda hour: hour * 3600 - 245.0))
histories = st.lists(st.tuples(kinds, seconds), max_size=12)
"""Kinds and the seconds at which a clock that is set back and forth dates them."""


def history_of(drawn: Sequence[tuple[tuple[str, dict[str, Json]], float]]) -> list[Event]:
    made = [event(1, "sandbox.requested", 0, REQUESTED)]
    for position, ((kind, payload), at) in enumerate(drawn, 2):
        made.append(event(position, kind, max(at, 0), payload))
    return made


def totals(meters: Sequence[Meter]) -> dict[tuple[str, str], tuple[int, int]]:
    """Units and micros by kind and price."""
    sums: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for meter in meters:
        price_id = "" if meter.charge is None else meter.charge.price_id
        money = 0 if meter.charge is None else meter.charge.micros
        before = sums[meter.kind, price_id]
        sums[meter.kind, price_id] = before[0] + meter.quantity, before[1] + money
    return sums


def differ(one: Sequence[Meter], other: Sequence[Meter]) -> list[object]:
    """What differs by more than one unit or micro."""
    left, right = totals(one), totals(other)
    return [
        (key, left[key], right[key])
        for key in {*left, *right}
        if any(abs(a - b) > 1 for a, b in zip(left[key], right[key], strict=True))
    ]


def whole(history: Sequence[Event]) -> list[Meter]:
    """The meters where nobody cuts before the end, which all events are dated before."""
    state: MeterState | None = None
    found: list[Meter] = []
    for each in history:
        state, meters = fold(state, each, E2B)
        found += meters
    assert state is not None
    return [*found, *cut(state, NOW + timedelta(seconds=END), E2B)[1]]


def effective(history: Sequence[Event]) -> list[datetime]:
    """The moments from which events count; a request at a door moves nothing."""
    moments: list[datetime] = [history[0].at]
    for each in history[1:]:
        at = moments[-1] if each.event_type == "door.request" else each.at
        moments.append(max(at, moments[-1]))
    return moments


@given(histories, st.lists(st.floats(0, END), max_size=12), st.lists(st.integers(0, 12)))
@example([(("sandbox.provisioning", {}), 0.0)], [1.5, 3600.0, 3355.0], [0])
def test_cuts_restarts_and_pages_twice_change_no_total(
    drawn: list[tuple[tuple[str, dict[str, Json]], float]],
    moments: list[float],
    restarts: list[int],
) -> None:
    """Cuts fall where a leader makes them: between what came and what comes."""
    history = history_of(drawn)
    cuts = sorted(NOW + timedelta(seconds=each) for each in moments)
    state: MeterState | None = None
    found: dict[str, Meter] = {}
    stored: list[tuple[MeterState | None, dict[str, Meter]]] = []
    for number, (each, at) in enumerate(zip(history, effective(history), strict=True)):
        while cuts and cuts[0] <= at:
            if state is not None:
                state, meters = cut(state, cuts[0], E2B)
                found |= {meter.id: meter for meter in meters}
            del cuts[0]
        stored.append((state, dict(found)))
        if number in restarts:
            # The transaction of the page was lost: it is folded again from the stored state.
            fold(state, each, E2B)
            state, found = stored[-1]
        state, meters = fold(state, each, E2B)
        found |= {meter.id: meter for meter in meters}
        state, twice = fold(state, each, E2B)
        assert twice == ()
    assert state is not None
    for moment in [*cuts, NOW + timedelta(seconds=END)]:
        state, meters = cut(state, moment, E2B)
        assert not {meter.id for meter in meters} & found.keys()
        found |= {meter.id: meter for meter in meters}
    assert differ([*found.values()], whole(history)) == []


@given(histories, st.lists(st.tuples(st.integers(0, 12), st.floats(0, END), st.booleans())))
def test_no_second_is_lost_doubled_or_negative_whatever_is_cut_and_priced_when(
    drawn: list[tuple[tuple[str, dict[str, Json]], float]],
    cuts: list[tuple[int, float, bool]],
) -> None:
    """Also where a cut is later than the event that comes next, and prices change in between."""
    # From its start to the end something of the sandbox stands.
    history = [one for one in history_of(drawn) if one.event_type not in ("sandbox.destroyed",)]
    history = [history[0], event(2, "sandbox.ready"), *history[1:]]
    history = [replace(each, position=number) for number, each in enumerate(history, 1)]
    state: MeterState | None = None
    found: list[Meter] = []
    for number, each in enumerate(history):
        state, meters = fold(state, each, E2B)
        found += meters
        for _, at, dearer in (one for one in cuts if one[0] + 1 == number):
            moment, prices = NOW + timedelta(seconds=at), DEARER if dearer else E2B
            state, meters = cut(state, moment, prices)
            found += meters
    assert state is not None
    state, meters = cut(state, NOW + timedelta(seconds=END), E2B)
    found += meters
    assert state.moment == NOW + timedelta(seconds=END)
    assert sum(one.quantity for one in found if one.kind in TIME) + _left(state) == END
    assert all(one.quantity >= 0 and one.begin <= one.end for one in found)
    assert all(one.charge is None or one.charge.micros >= 0 for one in found)
    assert len({one.id for one in found}) == len(found)
    for kind in TIME:
        spans = sorted((one.begin, one.end) for one in found if one.kind is kind)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def _left(state: MeterState) -> int:
    """The whole seconds in what the kinds of time have left below one."""
    left = sum(one.quantity for one in state.remainders if one.kind in TIME)
    return left // 1_000_000


@given(histories, st.lists(st.tuples(st.floats(0, END), st.booleans()), max_size=6),
       st.lists(st.floats(0, END), max_size=8))  # fmt: skip
def test_change_of_price_counts_the_same_however_it_is_cut_beside(
    drawn: list[tuple[tuple[str, dict[str, Json]], float]],
    changes: list[tuple[float, bool]],
    beside: list[float],
) -> None:
    history = history_of(drawn)
    steps = sorted((NOW + timedelta(seconds=at), dearer) for at, dearer in changes)

    def run(further: Sequence[float]) -> list[Meter]:
        cuts: list[tuple[datetime, bool | None]] = [
            *steps, *((NOW + timedelta(seconds=at), None) for at in further)
        ]  # fmt: skip
        cuts.sort(key=lambda one: one[0])
        prices, state = E2B, None
        found: list[Meter] = []
        for each, at in zip(history, effective(history), strict=True):
            while cuts and cuts[0][0] <= at:
                moment, dearer = cuts.pop(0)
                prices = prices if dearer is None else DEARER if dearer else E2B
                if state is not None:
                    state, meters = cut(state, moment, prices)
                    found += meters
            state, meters = fold(state, each, prices)
            found += meters
        assert state is not None
        for moment, dearer in [*cuts, (NOW + timedelta(seconds=END), None)]:
            prices = prices if dearer is None else DEARER if dearer else E2B
            state, meters = cut(state, moment, prices)
            found += meters
        return found

    assert differ(run(()), run(beside)) == []
