from datetime import UTC, datetime

from atoll.domain.event import Event
from atoll.domain.ids import EventId, OrgId
from atoll.domain.people.bearer import MODELS
from atoll.domain.projection import ModelState, Projection
from atoll.domain.sandboxes.reported import AGENTS
from atoll.wire.words.workers import SUMMARIES


def event(position: int, kind: str) -> Event:
    return Event(
        EventId(f"ev_{position}"),
        position,
        "s",
        position,
        kind,
        1,
        datetime(2026, 1, 1, tzinfo=UTC),
        OrgId("personal"),
        "atm",
        "atoll",
        None,
        {},
    )


def _fold(body: str | None, event: Event) -> str | None:
    return None if event.event_type == "end" else f"{body or ''}{event.position}"


COUNT = Projection("count", frozenset({"one", "end"}), _fold)


def test_state_is_folded_from_events_of_its_kinds() -> None:
    state = COUNT.after(None, [event(1, "one"), event(2, "other"), event(3, "one")])
    assert state == ModelState("13", 3)
    assert COUNT.after(None, [event(1, "other")]) is None


def test_events_that_a_state_has_change_nothing() -> None:
    state = COUNT.after(ModelState("1", 3), [event(3, "one"), event(4, "one")])
    assert state == ModelState("14", 4)


def test_state_that_ended_begins_anew() -> None:
    ended = COUNT.after(ModelState("1", 3), [event(4, "end")])
    assert ended == ModelState(None, 4)
    assert COUNT.after(ended, [event(5, "one")]) == ModelState("5", 5)


def test_subscriptions_name_the_projections() -> None:
    assert {AGENTS.name, SUMMARIES} == MODELS
