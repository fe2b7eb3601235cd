from typing import Any

from atoll.domain.meters.meter import Charge, Meter
from atoll.wire.words.meters import MeterKind, Source
from tests.domain.meters.scene import E2B, FREE, Prices, derive, life, micros, quantity

MODELS = Prices(
    models={
        MeterKind.TOKENS_READ: (3, 1),
        MeterKind.TOKENS_WRITTEN: (15, 1),
        MeterKind.TOKENS_CACHED: (3, 10),
    }
)
CALL: dict[str, Any] = {
    "door": "broker",
    "provider": "anthropic",
    "model": "claude-sonnet-5",
    "step": "forward",
    "outcome": "passed",
    "tokens_in": 1100,
    "tokens_cached": 1000,
    "tokens_out": 20,
    "cost_micros": 901,
}


def metered(*calls: dict[str, Any], prices: Prices = FREE) -> list[Meter]:
    history = life(("provisioning", 0), *(("door.request", 1, call) for call in calls))
    found = derive(history, prices, until=2)[1]
    return [one for one in found if one.kind in (*MODELS.models, MeterKind.BYTES_OUT)]


def test_request_is_counted_until_the_next_cut() -> None:
    state, meters = derive(life(("door.request", 1, CALL), ("door.request", 2, CALL)))
    assert meters == []
    assert len(state.counts) == 3
    assert state.moment < derive(life(("ready", 2)))[0].moment


def test_money_of_a_call_is_split_as_the_prices_have_it() -> None:
    meters = metered(CALL, CALL, prices=MODELS)
    money = {meter.kind: meter.charge.micros for meter in meters if meter.charge is not None}
    assert money == {
        MeterKind.TOKENS_READ: 602,
        MeterKind.TOKENS_WRITTEN: 600,
        MeterKind.TOKENS_CACHED: 600,
    }
    assert [meter.quantity for meter in meters] == [200, 40, 2000]
    assert meters[0].source is Source.MEASURED
    assert meters[0].subject.agent == "codex"


def test_money_without_a_price_list_is_that_of_the_tokens_written() -> None:
    read, written, cached = metered(CALL)
    assert written.charge == Charge("anthropic/claude-sonnet-5", 901, "USD")
    assert (micros([read]), micros([cached])) == (0, 0)
    assert micros(metered({**CALL, "tokens_out": 0})) == 901
    assert micros(metered({**CALL, "tokens_out": 0, "tokens_in": 0})) == 901


def test_sums_of_unrecorded_calls_count_what_they_stand_for() -> None:
    sums: dict[str, Any] = {"door": "broker", "unrecorded": 4, "unrecorded_cost_micros": 50,
                            "unrecorded_tokens_in": 9}  # fmt: skip
    meters = metered(sums)
    assert (quantity(meters, MeterKind.TOKENS_READ), micros(meters)) == (9, 50)
    both = metered({**CALL, "unrecorded_cost_micros": 99})
    assert micros(both) == 1000


def test_calls_without_a_known_price_are_counted_without_money() -> None:
    plain = {name: value for name, value in CALL.items() if name != "cost_micros"}
    meters = metered(plain, {**plain, "model": "other"}, prices=MODELS)
    assert all(meter.charge is None for meter in meters)
    assert quantity(meters, MeterKind.TOKENS_WRITTEN) == 40
    assert len({meter.id for meter in meters}) == len(meters) == 3


def test_agents_of_one_sandbox_are_told_apart() -> None:
    meters = metered(CALL, {**CALL, "agent": "claude-code", "cost_micros": 7})
    by_agent = {meter.subject.agent: micros([meter]) for meter in meters if micros([meter])}
    assert by_agent == {"codex": 901, "claude-code": 7}


def test_bytes_are_priced_by_the_backend() -> None:
    meters = metered({"door": "egress", "bytes_in": 5, "bytes_out": 2_000_500}, prices=E2B)
    assert (quantity(meters, MeterKind.BYTES_OUT), micros(meters)) == (2_000_500, 2000)


def test_figures_that_a_runtime_invents_are_bounded() -> None:
    wrong: dict[str, Any] = {"cost_micros": -5, "tokens_out": "many", "provider": 5, "model": True}
    assert metered({**CALL, **wrong, "tokens_in": -1}) == []
    assert micros(metered({**CALL, "cost_micros": True})) == 0
    assert micros(metered({**CALL, "cost_micros": 1 << 200})) == 1 << 40
    named = metered({**CALL, "provider": "x" * 999, "model": ""})[1]
    assert named.charge is not None
    assert len(named.charge.price_id) == 128
