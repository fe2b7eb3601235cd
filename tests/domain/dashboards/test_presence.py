import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.dashboards.presence import (
    COLOURS,
    GONE,
    MAX_STATE_BYTES,
    colour_of,
    own_state,
    presence_name,
)
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, ShareId
from atoll.domain.people.principal import GuestAccess, Principal
from atoll.wire.words.events import ActorKind
from atoll.wire.words.terminals import Role

ANN = PrincipalId("ann")


def test_state_names_the_person_whatever_it_said() -> None:
    said = '{"cursor":{"x":1},"user":{"id":"boss","name":"The boss","more":1}}'
    assert json.loads(own_state(said, ANN, "Ann", edits=True)) == {
        "cursor": {"x": 1},
        "user": {"id": "ann", "name": "Ann", "colour": colour_of(ANN)},
    }
    assert own_state("null", ANN, "Ann", edits=True) == GONE
    assert colour_of(ANN) in COLOURS


@pytest.mark.parametrize("said", ["", "[]", '"a"', "{", '{"a":NaN}', "[" * 4000])
def test_state_that_is_no_object_is_invalid(said: str) -> None:
    with pytest.raises(Invalid):
        own_state(said, ANN, "Ann", edits=True)


def test_state_is_bounded() -> None:
    with pytest.raises(LimitReached):
        own_state(
            json.dumps({"a": "é" * MAX_STATE_BYTES}, ensure_ascii=False), ANN, "Ann", edits=True
        )


def test_who_does_not_edit_is_not_shown_to_move_items() -> None:
    said = '{"drag":{"ids":["itm_1"],"dx":5,"dy":5}}'
    assert "drag" in json.loads(own_state(said, ANN, "Ann", edits=True))
    assert "drag" not in json.loads(own_state(said, ANN, "Ann", edits=False))


def test_guest_is_called_one_whatever_its_name() -> None:
    ann = Principal(PERSONAL_ORG, ANN, ActorKind.PERSON, name="Ann")
    access = GuestAccess(
        PERSONAL_ORG, ANN, ShareId("sh"), None, None, Role.VIEWER, datetime(2026, 1, 1, tzinfo=UTC)
    )
    guest = replace(ann, guest_access=access)
    assert (presence_name(ann), presence_name(replace(ann, name=""))) == ("Ann", "ann")
    assert presence_name(guest) == "guest Ann"
    assert presence_name(replace(guest, name="guest 1a2b")) == "guest 1a2b"
