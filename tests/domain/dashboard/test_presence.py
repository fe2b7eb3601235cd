import json

import pytest

from atoll.domain.dashboard.presence import COLOURS, GONE, MAX_STATE_BYTES, colour_of, own_state
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import PrincipalId

ANN = PrincipalId("ann")


def test_state_names_the_person_whatever_it_said() -> None:
    said = '{"cursor":{"x":1},"user":{"id":"boss","name":"The boss","more":1}}'
    assert json.loads(own_state(said, ANN, "Ann")) == {
        "cursor": {"x": 1},
        "user": {"id": "ann", "name": "Ann", "colour": colour_of(ANN)},
    }
    assert own_state("null", ANN, "Ann") == GONE
    assert colour_of(ANN) in COLOURS


@pytest.mark.parametrize("said", ["", "[]", '"a"', "{", '{"a":NaN}', "[" * 4000])
def test_state_that_is_no_object_is_invalid(said: str) -> None:
    with pytest.raises(Invalid):
        own_state(said, ANN, "Ann")


def test_state_is_bounded() -> None:
    with pytest.raises(LimitReached):
        own_state(json.dumps({"a": "é" * MAX_STATE_BYTES}, ensure_ascii=False), ANN, "Ann")
