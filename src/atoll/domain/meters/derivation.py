"""Meters derived from the log: an event closes the open interval of its sandbox and opens the next.

The same events give the same meters, however often they are cut in between. An event that a state
already has changes nothing. One that is dated before the state's moment counts from that moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from atoll.domain.event import SANDBOX_STREAMS, Event, Json
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.meters.doors import count_request
from atoll.domain.meters.interval import HOUR, advance, apply_prices, hour_of, rates_of, standing
from atoll.domain.meters.meter import Meter, Subject
from atoll.domain.meters.pricing import Pricing
from atoll.domain.meters.state import Count, MeterState, read_reserved
from atoll.wire.words.meters import MeterKind

Derived = tuple[MeterState, tuple[Meter, ...]]
"""A state, and the meters of what was closed."""


def fold(state: MeterState | None, event: Event, prices: Pricing) -> Derived:
    """Return the state of a sandbox after an event of `KINDS`, and the meters of the interval that
    the event closes. A request at a door closes none: it is counted until the next cut."""
    state = begin(event) if state is None else state
    if event.position <= state.position:
        return state, ()
    if event.event_type == DOOR_REQUEST:
        return replace(count_request(state, event, prices), position=event.position), ()
    state, meters = advance(state, event.at)
    state = replace(state, position=event.position)
    return apply_prices(_CHANGES[event.event_type](state, event), prices), meters


def cut(state: MeterState, moment: datetime, prices: Pricing) -> Derived:
    """Return the state with its interval closed at a moment, and the meters of that. The next one
    has the prices of now."""
    state, meters = advance(state, moment)
    return apply_prices(state, prices), meters


def is_due(state: MeterState, moment: datetime, prices: Pricing) -> bool:
    """Report whether a state is to be cut: something of it is open, and a full hour has passed or
    its prices are others."""
    if not is_open(state):
        return False
    return moment >= hour_of(state.moment) + HOUR or rates_of(state, prices) != state.rates


def is_open(state: MeterState) -> bool:
    """Report whether anything is counted while the interval is open."""
    return bool(state.counts) or any(standing(state))


def begin(event: Event) -> MeterState:
    """Return the state of a sandbox before the first event that there is of it."""
    sandbox_id = SandboxId(event.stream.removeprefix(SANDBOX_STREAMS))
    subject = Subject(sandbox_id, event.org_id, PrincipalId(""))
    return MeterState(subject, event.at, event.position - 1)


def _request(state: MeterState, event: Event) -> MeterState:
    payload = event.payload
    subject = replace(
        state.subject,
        owner=PrincipalId(_text(payload.get("owner")) or event.actor_id),
        agent=_text(payload.get("agent")),
        consumer=_consumer(payload.get("consumer")),
    )
    state = replace(state, subject=subject, reserved=read_reserved(payload.get("resources")))
    return _place(state, event)


def _provision(state: MeterState, event: Event) -> MeterState:
    """The start of a generation makes an environment; a later start of it takes that one up."""
    generation = _generation(event)
    subject = replace(state.subject, generation=generation)
    state = replace(state, subject=subject, phase=MeterKind.RUNNING)
    return state if state.made == generation else _create(replace(state, made=generation))


def _reroute(state: MeterState, event: Event) -> MeterState:
    reserved = read_reserved(event.payload["resources"]) if "resources" in event.payload else None
    state = state if reserved is None else replace(state, reserved=reserved)
    return _create(_place(state, event))


def _relocate(state: MeterState, event: Event) -> MeterState:
    host = _text(event.payload.get("to"))
    return _place(replace(state, subject=replace(state.subject, host=host)), event)


def _ready(state: MeterState, _event: Event) -> MeterState:
    return replace(state, phase=MeterKind.RUNNING, was_ready=True)


def _stop(state: MeterState, event: Event) -> MeterState:
    asleep = event.payload.get("asleep") is True
    return replace(state, phase=MeterKind.PAUSED if asleep else MeterKind.STOPPED)


def _keep(state: MeterState, _event: Event) -> MeterState:
    """An ended sandbox keeps its files, if it ever had any."""
    return replace(state, phase=MeterKind.STOPPED if state.was_ready else None)


def _destroy(state: MeterState, _event: Event) -> MeterState:
    return replace(state, phase=None, ended=True)


def _give(state: MeterState, event: Event) -> MeterState:
    owner = PrincipalId(_text(event.payload.get("to")))
    return replace(state, subject=replace(state.subject, owner=owner))


def _take_snapshot(state: MeterState, event: Event) -> MeterState:
    name, size = _text(event.payload.get("snapshot_id")), event.payload.get("size")
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        return state
    return replace(state, snapshots=(*_others(state, name), (name, size)))


def _remove_snapshot(state: MeterState, event: Event) -> MeterState:
    return replace(state, snapshots=_others(state, _text(event.payload.get("snapshot_id"))))


def _others(state: MeterState, name: str) -> tuple[tuple[str, int], ...]:
    return tuple(each for each in state.snapshots if each[0] != name)


def _create(state: MeterState) -> MeterState:
    """Count a new environment. No other count is open: the event closed the interval."""
    return replace(state, counts=(Count(MeterKind.CREATION, state.subject.agent, "", 1),))


def _place(state: MeterState, event: Event) -> MeterState:
    """Return a state in the place that an event names."""
    payload, subject = event.payload, state.subject
    return replace(
        state,
        subject=replace(
            subject,
            extension=_text(payload.get("extension", subject.extension)),
            host=_text(payload.get("host", subject.host)),
            region=_text(payload.get("region", "")),
        ),
    )


def _generation(event: Event) -> int:
    number = event.payload.get("generation")
    return number if isinstance(number, int) else 1


def _consumer(facts: Json) -> str:
    """Return a consumer as `harness`, or `harness/id`; empty for none."""
    if not isinstance(facts, Mapping):
        return ""
    harness = _text(facts.get("harness"))
    names = (_text(facts.get(name)) for name in ("session_id", "run_id", "job_id"))
    named = next((name for name in names if name), "")
    return f"{harness}/{named}" if harness and named else harness


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


DOOR_REQUEST: Final = "door.request"

_CHANGES: Final[Mapping[str, Callable[[MeterState, Event], MeterState]]] = {
    "sandbox.requested": _request,
    "sandbox.provisioning": _provision,
    "sandbox.rerouted": _reroute,
    "sandbox.relocated": _relocate,
    "sandbox.ready": _ready,
    "sandbox.active": _ready,
    "sandbox.stopped": _stop,
    "sandbox.expired": _keep,
    "sandbox.failed": _keep,
    "sandbox.destroying": _keep,
    "sandbox.destroyed": _destroy,
    "sandbox.given": _give,
    "snapshot.taken": _take_snapshot,
    "snapshot.removed": _remove_snapshot,
}

KINDS: Final = frozenset({*_CHANGES, DOOR_REQUEST})
"""The kinds of events that meters are derived from."""
