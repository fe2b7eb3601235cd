"""Histories of sandboxes, and prices, for the tests of meters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from atoll.domain.event import Event, Json
from atoll.domain.ids import EventId, OrgId
from atoll.domain.meters.derivation import cut, fold
from atoll.domain.meters.meter import Meter
from atoll.domain.meters.pricing import AppliedRate, Pricing
from atoll.domain.meters.state import MeterState
from atoll.wire.words.meters import MeterKind

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ORG = OrgId("acme")
NOTHING: Mapping[str, Json] = {}
RESOURCES: dict[str, Json] = {"cpu": 2, "memory_mb": 512, "workspace_mb": 10240}
REQUESTED: dict[str, Json] = {
    "extension": "e2b",
    "host": "",
    "region": "eu",
    "owner": "ada",
    "agent": "codex",
    "consumer": {"harness": "ci", "run_id": "7"},
    "resources": RESOURCES,
}


@dataclass(frozen=True)
class Prices:
    """Prices of backends by kind, as fractions of a micro for a unit, in one currency; `models` are
    those of every model."""

    rates: dict[MeterKind, tuple[int, int]] = field(default_factory=dict)
    models: dict[MeterKind, tuple[int, int]] = field(default_factory=dict)
    name: str = "list"

    def compute(self, extension: str, kind: MeterKind) -> AppliedRate | None:
        if extension != "e2b" or kind not in self.rates:
            return None
        return AppliedRate(kind, f"e2b@{self.name}/{kind}", *self.rates[kind], "USD")

    def model(self, provider: str, model: str, kind: MeterKind) -> AppliedRate | None:
        if kind not in self.models:
            return None
        return AppliedRate(
            kind, f"{provider}/{model}@{self.name}/{kind}", *self.models[kind], "USD"
        )


FREE = Prices()
E2B = Prices(
    {
        MeterKind.CPU: (14, 1),
        MeterKind.MEMORY: (9, 2),
        MeterKind.DISK: (1, 7),
        MeterKind.SNAPSHOTS: (1, 3),
        MeterKind.CREATION: (5, 2),
        MeterKind.BYTES_OUT: (1, 1000),
    }
)


def event(
    position: int, kind: str, seconds: float = 0, payload: Mapping[str, Json] = NOTHING
) -> Event:
    """An event so many seconds after `NOW`."""
    at = NOW + timedelta(seconds=seconds)
    said: dict[str, Json] = {"sandbox_id": "sb_1", "generation": 1, **payload}
    return Event(
        *(EventId(f"ev_{position}"), position, "sandbox:sb_1", position, kind, 1, at, ORG),
        *("adm", "ada", None, said),
    )


def life(*kinds: tuple[str, float] | tuple[str, float, dict[str, Json]]) -> list[Event]:
    """A history: kinds without `sandbox.`, and the seconds at which each came."""
    made = [event(1, "sandbox.requested", 0, REQUESTED)]
    for position, (kind, seconds, *more) in enumerate(kinds, 2):
        named = kind if "." in kind else f"sandbox.{kind}"
        made.append(event(position, named, seconds, *more))
    return made


def derive(
    history: Iterable[Event], prices: Pricing = FREE, *, until: float | None = None
) -> tuple[MeterState, list[Meter]]:
    """The state after a history, and all meters up to so many seconds after `NOW`."""
    state: MeterState | None = None
    found: list[Meter] = []
    for each in history:
        state, meters = fold(state, each, prices)
        found += meters
    assert state is not None
    if until is not None:
        state, meters = cut(state, NOW + timedelta(seconds=until), prices)
        found += meters
    return state, found


def quantity(meters: Iterable[Meter], kind: MeterKind) -> int:
    """The units of a kind."""
    return sum(meter.quantity for meter in meters if meter.kind is kind)


def micros(meters: Iterable[Meter], kind: MeterKind | None = None) -> int:
    """The money of a kind, or of all."""
    return sum(
        meter.charge.micros
        for meter in meters
        if meter.charge is not None and kind in (None, meter.kind)
    )
